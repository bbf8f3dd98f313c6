#pragma once

#include <memory>
#include <optional>

#include "common/rl/algorithms/sac/sac.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/noise.h"
#include "common/rl/kit/observations.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// Rows that networks are applied to: [rows] of transitions, or [T, rows] of sequences, if networks may have a core.
struct SoftRows {
  const Observations& observation;
  torch::Tensor first = {};       // As in Net::Unroll; undefined for transitions.
  torch::Tensor core_state = {};  // The actor's, before the first step; undefined without a core.
  // The action before each row; undefined for transitions. Has no meaning in the first row and in rows that begin an
  // episode.
  torch::Tensor action_before = {};
  // [k + 1]: the weights of critics' values of a reward of k dimensions, and of the entropy, 1. Undefined for a scalar.
  torch::Tensor reward_weights = {};

  // The weighted sum of values [..., k + 1]; a scalar reward's values [...] are unchanged.
  torch::Tensor Total(const torch::Tensor& values) const {
    return reward_weights.defined() ? (values * reward_weights).sum(-1) : values;
  }
};

// SAC's policy in its equations: draws one of real actions, or weighs all choices, or both. May throw as
// LibTorch does.
class SoftPolicy {
 public:
  virtual ~SoftPolicy() = default;

  // The present policy's expectations in a state, as many as rows: the least critic's value, its entropy and that one's
  // target, which may be without dimensions. Beside a prior the entropy is minus the divergence from it. For a vector
  // reward q is [rows, k + 1]: in each dimension the critics' value that adds least to the weighted sum.
  struct Expected {
    torch::Tensor q;
    torch::Tensor entropy;
    torch::Tensor target_entropy;
    // The entropy of a choice beside real actions, which counts in q at a temperature of its own, and its target.
    // Undefined for other actions.
    torch::Tensor choice_entropy = {};
    torch::Tensor choice_target_entropy = {};
  };
  // `critics` are the learned ones or their targets.
  virtual Expected Expect(const Network& critics, const SoftRows& rows, Noise* noise) const = 0;

  // The critics' values of the actions taken, [members, ...], or [members, rows, k + 1].
  virtual torch::Tensor Taken(const Network& critics, const SoftRows& rows, const torch::Tensor& action) const = 0;

  // Descends the losses of learned numbers of its own, by expectations that the learned critics gave, and reports them.
  // `learned` is true for rows that count; undefined if all do.
  virtual void LearnMore(const Expected& /*now*/, const torch::Tensor& /*learned*/, UpdateContext* /*context*/) const {}
};

// For a tanh-normal head and critics that take the action. The actor must outlive it.
std::unique_ptr<SoftPolicy> NewContinuousPolicy(const SacOptions& options, const Net* actor);

// For a categorical head and critics with a value a choice (arXiv 1910.07207). The actor must outlive it.
std::unique_ptr<SoftPolicy> NewDiscretePolicy(const SacOptions& options, const Net* actor);

// The target of a choice's entropy: the given one, without dimensions, or by default a share of that of each row's
// legal choices, [...]. `values` is [..., choices]; `mask`, of its shape, may be undefined.
torch::Tensor ChoiceTargetEntropy(const std::optional<double>& given, const torch::Tensor& values,
                                  const torch::Tensor& mask);

// The critics' outputs. Critics with a core begin each sequence without memories, as only the actor's state is stored.
Output CriticsOutput(const Network& critics, const SoftRows& rows, const torch::Tensor& action = {});

}  // namespace waggle
