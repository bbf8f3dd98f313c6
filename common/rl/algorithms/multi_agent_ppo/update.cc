#include "common/rl/algorithms/multi_agent_ppo/update.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/config/spec/agent_view.h"

namespace waggle {

MultiAgentPpo::MultiAgentPpo(const MultiAgentPpoOptions& options, bool central, Model* model) : options_(options) {
  const EnvironmentSpec& environment = model->environment();
  const absl::StatusOr<std::vector<AgentGroup>> groups = AgentGroups(environment, options.share);
  WAGGLE_CHECK(groups.ok(), "the plan has checked that agents can share");
  for (const AgentGroup& group : *groups) {
    const std::vector<std::string> others =
        central ? OthersOf(environment, group.agents[0]) : std::vector<std::string>();
    const std::string policy = group.NetworkName(central ? "actor" : "actor_critic");
    const std::string value = group.NetworkName(central ? "critic" : "actor_critic");
    learners_.push_back({AgentBatches(environment, group.agents, others, {"log_prob"}, options.team_reward),
                         std::make_unique<PolicyPhase>(options, policy, value, model)});
  }
}

void MultiAgentPpo::Update(const Batches& batches, UpdateContext* context) {
  for (const Learner& learner : learners_) {
    const TensorBatch seen = learner.batches.Of(batches.only());
    learner.phase->Run(UnrollsOf(learner.batches.InView(seen), options_.discount), context);
  }
}

void MultiAgentPpo::VisitState(StateVisitor* visitor) {
  for (size_t i = 0; i < learners_.size(); ++i) {
    visitor->Scope(absl::StrCat("agent", i), [&] { learners_[i].phase->VisitState(visitor); });
  }
}

}  // namespace waggle
