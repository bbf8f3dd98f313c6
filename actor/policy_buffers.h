#pragma once

#include <cstdint>
#include <vector>

#include "actor/leaf_arrays.h"
#include "common/rl/policy.h"
#include "common/spec/space_leaf.h"

namespace waggle {

// The memory that a policy writes its decisions for `lanes` lanes to, made to the measure of the environment's actions
// and its own columns.
class PolicyBuffers {
 public:
  PolicyBuffers(const Policy& policy, const std::vector<SpaceLeaf>& actions, int64_t lanes);
  PolicyBuffers(const PolicyBuffers&) = delete;
  PolicyBuffers& operator=(const PolicyBuffers&) = delete;

  PolicyOutput* output() { return &output_; }

 private:
  const LeafArrays actions_;
  const LeafArrays columns_;
  std::vector<float> private_values_;
  PolicyOutput output_;
};

}  // namespace waggle
