#pragma once

#include <cstdint>
#include <vector>

#include "actor/environments/leaf_arrays.h"
#include "common/config/spec/space_leaf.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// Memory for a policy's decisions for `lanes` lanes, sized for the environment's actions and the policy's columns.
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
