#pragma once

#include "common/rl/algorithms/quantile_actor_critic/definition.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/kit/model.h"

namespace waggle {

// Soft actor-critic whose critics learn quantiles of returns. Algorithms differ in which of all critics' quantiles,
// [critics, rows, quantiles], they take: [rows, any number], in any order.
class QuantileActorCritic : public Algorithm {
 public:
  // The model must be of a QuantileActorCriticPlan of these options, and outlive it.
  QuantileActorCritic(const QuantileActorCriticOptions& options, Model* model);

  void Update(const Batches& batches, UpdateContext* context) override;

 protected:
  // The quantiles that the critics learn from, of the targets' quantiles.
  virtual torch::Tensor Target(const torch::Tensor& quantiles) const = 0;
  // The quantiles whose mean the actor climbs.
  virtual torch::Tensor Climbed(const torch::Tensor& quantiles) const = 0;

 private:
  const QuantileActorCriticOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
};

// Those of all critics together, [rows, critics * quantiles].
inline torch::Tensor Together(const torch::Tensor& quantiles) {
  return quantiles.transpose(0, 1).flatten(1);
}

}  // namespace waggle
