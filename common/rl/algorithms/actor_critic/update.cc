#include "common/rl/algorithms/actor_critic/update.h"

namespace waggle {

void AdvantageActorCritic::Update(const Batches& batches, UpdateContext* context) {
  const Unrolls u = UnrollsOf(batches, options_.discount);
  const ActorCriticStep::Pass pass = step_.Forward(u, context);
  const Advantages gae = GeneralizedAdvantages(pass.reward, u.discount, pass.value.detach(), u.last, options_.lambda);
  step_.Descend(u, pass, gae, context);
}

}  // namespace waggle
