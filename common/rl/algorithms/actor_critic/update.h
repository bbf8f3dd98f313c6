#pragma once

#include "common/rl/algorithms/actor_critic/step.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {

// The update of an advantage actor-critic from its own policy's unrolls, by generalised advantages.
class AdvantageActorCritic : public Algorithm {
 public:
  AdvantageActorCritic(const ActorCriticOptions& options, Model* model) : options_(options), step_(options, model) {}

  void Update(const Batches& batches, UpdateContext* context) override;
  void VisitState(StateVisitor* visitor) override { step_.VisitState(visitor); }

 private:
  const ActorCriticOptions options_;
  ActorCriticStep step_;
};

}  // namespace waggle
