#pragma once

#include <cstdint>
#include <vector>

#include "common/rl/policy.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// The memory that a policy writes its decisions for `lanes` lanes to, made to the measure of its columns.
class PolicyBuffers {
 public:
  PolicyBuffers(const Policy& policy, const ArraySpec& action, int64_t lanes);
  PolicyBuffers(const PolicyBuffers&) = delete;
  PolicyBuffers& operator=(const PolicyBuffers&) = delete;

  PolicyOutput* output() { return &output_; }

 private:
  std::vector<std::vector<char>> arrays_;
  std::vector<float> private_values_;
  PolicyOutput output_;
};

}  // namespace waggle
