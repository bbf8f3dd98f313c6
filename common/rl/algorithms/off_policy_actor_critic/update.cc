#include "common/rl/algorithms/off_policy_actor_critic/update.h"

namespace waggle {

void ClimbCritic(const Transitions& transitions, bool critics_stepped, double target_update_rate, Net* actor,
                 Net* critic, UpdateContext* context) {
  const torch::Tensor action = (*actor)(transitions.observation).action();
  torch::Tensor q = (*critic)(transitions.observation, action).value();
  q = q.dim() > 1 ? q.select(0, 0) : q;
  if (context->Descend(-(transitions.weight * q).mean(), actor->group()) && critics_stepped) {
    actor->FollowTarget(target_update_rate);
    critic->FollowTarget(target_update_rate);
  }
  context->Report("q_mean", q);
}

}  // namespace waggle
