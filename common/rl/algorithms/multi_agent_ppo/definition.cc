#include "common/rl/algorithms/multi_agent_ppo/definition.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/plan/head_kinds.h"
#include "common/config/spec/agent_view.h"

namespace waggle {

void MultiAgentPpoOptions::Visit(ConfigVisitor& visitor) {
  visitor.Bool("share", &share);
  visitor.Bool("team_reward", &team_reward);
  PpoOptions::Visit(visitor);
}

absl::StatusOr<AlgorithmPlan> MultiAgentPpoPlan(const MultiAgentPpoOptions& options, const PlanContext& context,
                                                bool central) {
  const EnvironmentSpec& environment = context.environment;
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<AgentGroup> groups, AgentGroups(environment, options.share));
  if (groups.size() > 1 && options.entropy.rule == "stages") {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.entropy.rule: got stages, which follows one policy, and ",
                                                   groups.size(), " agents learn one each; wanted gradient"));
  }
  std::vector<ArraySpec> columns;
  for (const std::string& agent : AgentsOf(environment)) {
    columns.push_back(NumberColumn(NameOf(agent, "log_prob")));
  }
  WAGGLE_ASSIGN_OR_RETURN(AlgorithmPlan plan, PpoPlan(options, context, columns));
  const HeadNeed value{HeadKind::kValue, options.value_replicas};
  plan.networks.clear();
  plan.own_policy = true;
  for (const AgentGroup& group : groups) {
    const auto add = [&](const std::string& section, std::map<std::string, HeadNeed> heads) {
      NetworkNeed need{group.NetworkName(section), std::move(heads), options.optimizer};
      need.section = section;
      need.agents = group.agents;
      plan.networks.push_back(std::move(need));
    };
    const HeadKind policy = PolicyHead(ViewOf(environment, group.agents[0]).spec);
    if (central) {
      add("actor", {{"policy", policy}});
      plan.networks.back().acts = true;
      add("critic", {{"value", value}});
      plan.networks.back().also_sees = OthersOf(environment, group.agents[0]);
    } else {
      add("actor_critic", {{"policy", policy}, {"value", value}});
      plan.networks.back().acts = true;
    }
  }
  return plan;
}

}  // namespace waggle
