#pragma once

#include <memory>

#include "common/rl/algorithms/sac/sac.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/noise.h"

namespace waggle {

// SAC's policy in its equations: draws one of real actions, or weighs all choices. May throw as LibTorch does.
class SoftPolicy {
 public:
  virtual ~SoftPolicy() = default;

  // The present policy's expectations in a state, [rows]: the least critic's value, its entropy and that one's target.
  struct Expected {
    torch::Tensor q;
    torch::Tensor entropy;
    torch::Tensor target_entropy;
  };
  // `critics` are the learned ones or their targets.
  virtual Expected Expect(const Network& critics, const Observations& observation, Noise* noise) const = 0;

  // The critics' values of the actions taken, [members, rows].
  virtual torch::Tensor Taken(const Network& critics, const Transitions& transitions) const = 0;
};

// For a tanh-normal head and critics that take the action. The actor must outlive it.
std::unique_ptr<SoftPolicy> NewContinuousPolicy(const SacOptions& options, const Net* actor);

// For a categorical head and critics with a value a choice (arXiv 1910.07207). The actor must outlive it.
std::unique_ptr<SoftPolicy> NewDiscretePolicy(const SacOptions& options, const Net* actor);

}  // namespace waggle
