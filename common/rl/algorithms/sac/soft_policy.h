#pragma once

#include <memory>

#include "common/rl/algorithms/sac/sac.h"
#include "common/rl/batches.h"
#include "common/rl/net.h"
#include "common/rl/noise.h"

namespace waggle {

// SAC's policy as its equations see it: of real actions, of which one is drawn, or of one choice, of which all are
// weighed. May throw as LibTorch does.
class SoftPolicy {
 public:
  virtual ~SoftPolicy() = default;

  // What the policy of now expects in a state, [rows]: the least critic's value, and its own entropy, which is to come
  // to target_entropy.
  struct Expected {
    torch::Tensor q;
    torch::Tensor entropy;
    torch::Tensor target_entropy;
  };
  // `critics` are the learned ones or their targets.
  virtual Expected Expect(const Network& critics, const Observations& observation, Noise* noise) const = 0;

  // The critics' values of the actions that were taken, [members, rows].
  virtual torch::Tensor Taken(const Network& critics, const Transitions& transitions) const = 0;
};

// That of a tanh-normal head, and of critics that take the action. The actor outlives it.
std::unique_ptr<SoftPolicy> NewContinuousPolicy(const SacOptions& options, const Net* actor);

// That of a categorical head, and of critics with a value for each choice (arXiv 1910.07207). The actor outlives it.
std::unique_ptr<SoftPolicy> NewDiscretePolicy(const SacOptions& options, const Net* actor);

}  // namespace waggle
