#include "common/rl/algorithms/ddpg/policy.h"

#include "common/rl/algorithms/deterministic_actor_critic/update.h"

namespace waggle {

using torch::Tensor;

DdpgPolicy::DdpgPolicy(const DdpgOptions& options, ActingNets nets)
    : nets_(std::move(nets)),
      scale_(ScaleOf(options.best_probability, nets_.net("actor").plan().action.TotalChoices())) {}

Acted DdpgPolicy::Act(const ActingRows& rows) {
  const Output actor = nets_.net("actor")(rows.observation);
  own_ = ActionOf(actor);
  Acted acted;
  acted.action = own_;
  acted.mask = actor.mask();
  if (!actor.plan().action.num_values.empty()) {
    acted.policy = Distribution::Categorical(scale_ * own_, actor.mask());
    acted.action = rows.greedy ? acted.policy->Mode() : acted.policy->Sample(rows.noise).action;
  }
  return acted;
}

void DdpgPolicy::AddColumns(const ActingRows& rows, const Tensor& action, Acted* acted) {
  if (nets_.nets.count("critic") == 0) {
    return;
  }
  const NetView& critic = nets_.net("critic");
  const Tensor taken = TakenActions(action, critic.plan().action);
  acted->columns["q_taken"] = ValuesOf(critic, rows.observation, taken).amin(0);
  acted->columns["q_max"] = ValuesOf(critic, rows.observation, own_).amin(0);
}

}  // namespace waggle
