#pragma once

#include <cstdint>

#include "common/rl/algorithms/deterministic_actor_critic/update.h"
#include "common/rl/algorithms/td3/td3.h"

namespace waggle {

// TD3's update, also of algorithms with another loss of the actor (td3_bc).
class Td3 : public DeterministicActorCritic {
 public:
  // The model must be of a Td3Plan of these options, and outlive it.
  Td3(const Td3Options& options, Model* model) : DeterministicActorCritic(options, model), options_(options) {}

  void VisitState(StateVisitor* visitor) override { visitor->Int("updates", &updates_); }

 protected:
  // The first critic's value.
  torch::Tensor Value(const Observations& observation, const torch::Tensor& action) const override {
    return ValuesOf(NetView(&critic().network()), observation, action).select(0, 0);
  }

 private:
  // The critics' target is r + gamma^n min_i Q'_i(s', mu'(s') + noise).
  torch::Tensor NextAction(const torch::Tensor& action, Noise* noise) const override;
  bool ActorSteps() override { return ++updates_ % options_.policy_delay == 0; }

  const Td3Options options_;
  int64_t updates_ = 0;
};

}  // namespace waggle
