#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/plan/head_kinds.h"
#include "common/config/spec/agent_view.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/maddpg/maddpg.h"

namespace waggle {
namespace {

bool IsName(const std::string& text) {
  return ValidateName(text).ok();
}

absl::Status Check(const MaddpgOptions& options, const EnvironmentSpec& environment) {
  const std::vector<std::string> agents = AgentsOf(environment);
  Problems problems;
  problems.AddUnless(PolicyHead(environment) != HeadKind::kMixed, "environment.name: ", environment.name,
                     " has choices and real actions; algorithm maddpg wants one of both for all agents");
  const auto check_known = [&](const std::string& key, const std::string& agent) {
    problems.AddUnless(std::find(agents.begin(), agents.end(), agent) != agents.end(), key, ": got ", agent,
                       "; wanted one of ", absl::StrJoin(agents, ", "), DidYouMean(agent, agents));
  };
  problems.AddUnless(!options.share || options.critics.empty(),
                     "algorithm.critics: got agents that some critics see; wanted none, or share: false");
  for (const auto& [agent, critic] : options.critics) {
    check_known("algorithm.critics", agent);
    for (const std::string& other : critic.sees) {
      check_known(absl::StrCat("algorithm.critics.", agent, ".sees"), other);
      problems.AddUnless(other != agent, "algorithm.critics.", agent, ".sees: got ", agent,
                         ", which its own critic sees anyway; wanted other agents");
    }
  }
  return problems.ToStatus();
}

// Numbers of an agent's action as critics take it.
int64_t ActionWidth(const EnvironmentSpec& environment, const std::string& agent) {
  const JointAction action = JointActionOf(ViewOf(environment, agent).spec);
  return action.TotalChoices() + action.num_reals;
}

absl::StatusOr<AlgorithmPlan> Plan(const MaddpgOptions& options, const PlanContext& context) {
  const EnvironmentSpec& environment = context.environment;
  WAGGLE_RETURN_IF_ERROR(Check(options, environment));
  const std::vector<std::string> agents = AgentsOf(environment);
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<AgentGroup> groups, AgentGroups(environment, options.share));
  const bool is_choice = PolicyHead(environment) == HeadKind::kCategorical;
  AlgorithmPlan plan;
  for (const AgentGroup& group : groups) {
    NetworkNeed actor{group.NetworkName("actor"), {}, options.actor_optimizer};
    actor.heads = is_choice ? std::map<std::string, HeadNeed>{{"policy", HeadKind::kCategorical}}
                            : std::map<std::string, HeadNeed>{{"action", HeadKind::kDeterministic}};
    actor.acts = true;
    actor.has_target = true;
    actor.members = options.policies;
    actor.agents = group.agents;
    actor.section = "actor";
    NetworkNeed critic{group.NetworkName("critic"), {{"value", HeadKind::kValue}}, options.critic_optimizer};
    critic.has_target = true;
    critic.agents = group.agents;
    critic.also_sees = SeenByCritic(options, environment, group.agents[0]);
    critic.section = "critic";
    int64_t width = ActionWidth(environment, group.agents[0]);
    for (const std::string& other : critic.also_sees) {
      const bool acts = std::find(agents.begin(), agents.end(), other) != agents.end();
      width += acts ? ActionWidth(environment, other) : 0;
    }
    critic.extra = {{"actions", width}};
    plan.networks.push_back(std::move(actor));
    plan.networks.push_back(std::move(critic));
  }
  plan.exploration = options.exploration;
  if (plan.exploration.type == ExplorationOptions::kByAction) {
    plan.exploration.type = is_choice ? "none" : "gaussian";  // The draw explores choices.
  }
  plan.own_policy = true;
  plan.tables = {TransitionTable(context, options.n_step)};
  for (const std::string& agent : options.policies > 1 ? agents : std::vector<std::string>()) {
    const ArraySpec column = NumberColumn(NameOf(agent, kPolicyColumn));
    plan.columns.push_back(column);
    plan.tables[0].table.signature.push_back(column);
    plan.tables[0].table.view.push_back({column.name, column.name, ViewField::Rows::kFirst});
  }
  return plan;
}

}  // namespace

void CriticView::Visit(ConfigVisitor& visitor) {
  visitor.TextList("sees", &sees, IsName, "names of agents");
}

MaddpgOptions::MaddpgOptions() {
  exploration.type = ExplorationOptions::kByAction;
}

void MaddpgOptions::Visit(ConfigVisitor& visitor) {
  visitor.Bool("share", &share);
  visitor.Int("policies", &policies, In(1, 64));
  visitor.Map("critics", &critics);
  visitor.Double("temperature", &temperature, In(0.01, 100).Live());
  visitor.OptionalDouble("action_penalty", &action_penalty, In(0, 1e6).Live());
  OffPolicyActorCriticOptions::Visit(visitor);
}

std::vector<std::string> SeenByCritic(const MaddpgOptions& options, const EnvironmentSpec& environment,
                                      const std::string& agent) {
  std::vector<std::string> others = OthersOf(environment, agent);
  if (const auto critic = options.critics.find(agent); critic != options.critics.end()) {
    const std::vector<std::string>& sees = critic->second.sees;
    others.erase(std::remove_if(others.begin(), others.end(),
                                [&sees](const std::string& other) {
                                  return std::find(sees.begin(), sees.end(), other) == sees.end();
                                }),
                 others.end());
  }
  return others;
}

AlgorithmDefinition maddpg_definition() {
  AlgorithmDefinition definition =
      Define("DDPG of several agents, each with a critic of what all of them see and do (multi-agent DDPG)",
             {SpaceKind::kBox, SpaceKind::kDiscrete}, OffPolicyActorCriticDefaults, Plan);
  definition.takes_agents = true;
  return definition;
}

}  // namespace waggle
