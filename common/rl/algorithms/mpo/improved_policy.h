#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/rl/kit/batches.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/noise.h"

namespace waggle {

// The target policy's candidates in states, and the target critic's values of them. Constants.
struct Candidates {
  torch::Tensor action;     // Real ones only: before tanh, [candidates, rows, elements].
  torch::Tensor q;          // [rows, candidates]; an impossible choice has its row's mean.
  torch::Tensor log_prior;  // [rows, candidates]: the target policy's, whose probabilities sum to 1 in a row.

  // The target policy's value, [rows].
  torch::Tensor Value() const { return (log_prior.exp() * q).sum(-1); }
};

// A version of the policy in which only one thing has moved away from its target.
struct MovedPart {
  torch::Tensor log_prob;    // [rows, candidates].
  torch::Tensor divergence;  // [rows]: of the target policy from it, KL(target || part).
};

// MPO's policy in its equations, of real actions or of choices. May throw as LibTorch does.
class ImprovedPolicy {
 public:
  virtual ~ImprovedPolicy() = default;

  virtual Candidates Propose(const Observations& observation, Noise* noise) const = 0;

  // The critic's values of the actions taken, [rows].
  virtual torch::Tensor Taken(const Transitions& transitions) const = 0;

  // The parts whose divergences have limits of their own, in the order of the plan's scalars.
  virtual std::vector<MovedPart> Parts(const Observations& observation, const Candidates& candidates) const = 0;
};

// `samples` actions are drawn. A tanh-normal policy's mean moves with the target's standard deviation, and its standard
// deviation with the target's mean (arXiv 1812.02256, section 4.2). The networks must outlive it.
std::unique_ptr<ImprovedPolicy> NewNormalPolicy(int64_t samples, const Net* actor, const Net* critic);

// A categorical policy has one part, and weighs all choices. The networks must outlive it.
std::unique_ptr<ImprovedPolicy> NewCategoricalPolicy(const Net* actor, const Net* critic);

}  // namespace waggle
