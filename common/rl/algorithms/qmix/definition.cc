#include "common/base/status_macros.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/spec/agent_view.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/qmix/qmix.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const QmixOptions& options, const PlanContext& context) {
  const std::vector<std::string> agents = AgentsOf(context.environment);
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<AgentGroup> groups, AgentGroups(context.environment, options.share));
  AlgorithmPlan plan;
  for (const AgentGroup& group : groups) {
    NetworkNeed q{group.NetworkName("q"), {{"q", HeadKind::kQ}}, options.optimizer};
    q.acts = true;
    q.has_target = true;
    q.agents = group.agents;
    q.section = "q";
    plan.networks.push_back(std::move(q));
  }
  const auto vector = [](int64_t size) { return HeadNeed(HeadKind::kVector, size); };
  const int64_t units = options.mixing_units;
  NetworkNeed mixer{"mixer",
                    {{"first_weights", vector(static_cast<int64_t>(agents.size()) * units)},
                     {"first_bias", vector(units)},
                     {"second_weights", vector(units)},
                     {"second_bias", vector(1)}},
                    options.optimizer};
  mixer.has_target = true;
  mixer.agents = {agents[0]};
  mixer.also_sees = OthersOf(context.environment, agents[0]);
  plan.networks.push_back(std::move(mixer));
  plan.exploration = options.exploration;
  plan.own_policy = true;
  plan.tables = {TransitionTable(context, options.n_step)};
  return plan;
}

void Defaults(Experiment* experiment) {
  OffPolicyDefaults(experiment);
  experiment->learner.batch_size = 64;
  experiment->replay.table.rate_limiter.samples_per_insert = 16;
  // The mixture's weights are linear in the observations, and its last bias has a hidden layer.
  NetworkSpec mixer;
  mixer.torso = {};
  mixer.heads["second_bias"].units = {32};
  experiment->networks = {{"q", Mlp({64, 64})}, {"mixer", mixer}};
}

}  // namespace

QmixOptions::QmixOptions() {
  n_step = 1;
}

void QmixOptions::Visit(ConfigVisitor& visitor) {
  visitor.Bool("share", &share);
  visitor.Int("mixing_units", &mixing_units, In(1, 10'000));
  ValueBasedOptions::Visit(visitor);
}

AlgorithmDefinition qmix_definition() {
  AlgorithmDefinition definition =
      Define("Q-learning of a team whose value grows with each agent's (QMIX)", {SpaceKind::kDiscrete}, Defaults, Plan);
  definition.takes_agents = true;
  return definition;
}

}  // namespace waggle
