#include "common/rl/algorithms/definitions.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/plan/head_kinds.h"
#include "common/rl/algorithms/actor_critic/definition.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

// `algorithm` as in YAML: "name: a2c, unroll: 7".
absl::StatusOr<Experiment> Parse(const std::string& algorithm, const std::string& sections = "") {
  return ParseExperiment("algorithm: {" + algorithm + "}\nstop: {max_seconds: 1}\n" + sections, "test.yaml", {},
                         BuiltinAlgorithmDefinitions());
}

EnvironmentSpec EnvironmentOf(std::vector<SpaceLeaf> actions) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = std::move(actions);
  return environment;
}

const SpaceLeaf& Choice() {
  static const auto* const leaf = new SpaceLeaf(Discrete("action", 4));
  return *leaf;
}

const SpaceLeaf& Real() {
  static const auto* const leaf = new SpaceLeaf(Box("action", DType::kFloat32, {2}, -1, 1));
  return *leaf;
}

// The error of an experiment in an environment that its algorithm can learn, or nothing.
std::string Problem(const std::string& algorithm, const std::string& sections = "") {
  const absl::StatusOr<Experiment> experiment = Parse(algorithm, sections);
  if (!experiment.ok()) {
    return std::string(experiment.status().message());
  }
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const std::vector<SpaceKind>& kinds = ValueOf(definitions.Find(experiment->algorithm))->action_kinds;
  const EnvironmentSpec environment = EnvironmentOf({kinds[0] == SpaceKind::kBox ? Real() : Choice()});
  return std::string(CheckAgainstEnvironment(*experiment, environment, definitions).message());
}

// A network as "NAME(HEAD:KIND …)", a scalar as "NAME=VALUE", a table as "ROWS/PERIOD SAMPLER", and the rest.
std::string Text(const AlgorithmPlan& plan) {
  std::string text;
  for (const NetworkNeed& need : plan.networks) {
    const std::string heads = absl::StrJoin(
        need.heads, " ", absl::PairFormatter(absl::AlphaNumFormatter(), ":", [](auto* out, const HeadNeed& head) {
          out->append(Name(head.kind));
        }));
    absl::StrAppend(&text, need.name, "(", heads, need.acts ? " acts" : "", need.takes_action ? " takes_action" : "",
                    need.has_target ? " target" : "", need.members ? absl::StrCat(" x", *need.members) : "", "), ");
  }
  for (const ScalarNeed& scalar : plan.scalars) {
    absl::StrAppend(&text, scalar.name, "=", scalar.initial, ", ");
  }
  for (const TablePlan& table : plan.tables) {
    absl::StrAppend(&text, table.window.length, "/", table.window.period, " ", Name(table.table.sampler.kind));
  }
  absl::StrAppend(&text, ", ", plan.exploration.type);
  for (const ArraySpec& column : plan.columns) {
    absl::StrAppend(&text, ", ", column.name);
  }
  return plan.rows_per_version ? absl::StrCat(text, ", waits after ", *plan.rows_per_version) : text;
}

TEST_CASE("a plan has the networks, scalars and windows of its paper", "[unit]") {
  struct Case {
    const char* algorithm;
    std::vector<SpaceLeaf> actions;
    const char* plan;
  };
  const std::vector<Case> cases = {
      {"name: a2c, unroll: 7",
       {Choice()},
       "actor_critic(policy:categorical value:value acts), 8/8 fifo, none, waits after 7"},
      {"name: a3c, unroll: 7",
       {Choice()},
       "actor_critic(policy:categorical value:value acts), 8/8 fifo, none, waits after 7"},
      {"name: ppo, unroll: 7, entropy: {weight: 1, target: -1}",
       {Real()},
       "actor_critic(policy:normal value:value acts), log_entropy_weight=0, 8/8 fifo, none, log_prob, waits after 7"},
      {"name: ppg, unroll: 7",
       {Choice()},
       "actor_critic(policy:categorical value:value value_auxiliary:value acts), 8/8 fifo, none, log_prob, waits after "
       "7"},
      {"name: trac, unroll: 7, entropy: {weight: 1, rule: stages}",
       {Real()},
       "actor_critic(policy:normal value:value acts), log_entropy_weight=0, 8/8 fifo, none, waits after 7"},
      {"name: impala, unroll: 7",
       {Discrete("action/gear", 4), Box("action/steer", DType::kFloat32, {1}, -1, 1)},
       "actor_critic(policy:mixed value:value acts), 8/7 fifo, none, log_prob"},
      {"name: ddpg, n_step: 3",
       {Real()},
       "actor(action:deterministic acts target), critic(value:value takes_action target x1), 4/1 uniform, "
       "ornstein_uhlenbeck"},
      {"name: td3, n_step: 3",
       {Real()},
       "actor(action:deterministic acts target), critic(value:value takes_action target x2), 4/1 uniform, gaussian"},
      {"name: sac, n_step: 3, temperature: 1",
       {Real()},
       "actor(policy:tanh_normal acts), critic(value:value takes_action target x2), log_temperature=0, 4/1 uniform, "
       "none"},
      {"name: sac, learn_temperature: false",
       {Choice()},
       "actor(policy:categorical acts), critic(q:q target x2), 2/1 uniform, none"},
      {"name: apex_dqn, n_step: 5", {Choice()}, "q(q:q acts target), 6/1 prioritized, epsilon_greedy"},
      {"name: apex_dqn, n_step: 5, mode: vanilla", {Choice()}, "q(q:q acts), 6/1 prioritized, epsilon_greedy"},
      {"name: r2d2, sequence: 20, burn_in: 10",
       {Choice()},
       "q(q:q acts target), 31/20 prioritized, epsilon_greedy, core_state"},
  };
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  for (const Case& one : cases) {
    INFO(one.algorithm);
    const Experiment experiment = ValueOf(Parse(one.algorithm));
    const EnvironmentSpec environment = EnvironmentOf(one.actions);
    REQUIRE_OK(CheckAgainstEnvironment(experiment, environment, definitions));
    CHECK(Text(ValueOf(PlanExperiment(experiment, environment, definitions)).algorithm) == one.plan);
  }
}

TEST_CASE("only the actors of A3C push gradients by default, and each would have its own scale of returns", "[unit]") {
  for (const std::string& name : BuiltinAlgorithmDefinitions().Names()) {
    CHECK(ValueOf(Parse("name: " + name)).learner.actors_push() == (name == "a3c"));
    CHECK_FALSE(ValueOf(Parse("name: " + name, "learner: {gradients: local}\n")).learner.actors_push());
  }
  CHECK_FALSE(
      dynamic_cast<const ActorCriticOptions&>(*ValueOf(Parse("name: a3c")).algorithm_options).normalize_returns);
}

TEST_CASE("options and sections that do not fit each other are refused by the key", "[unit]") {
  struct Case {
    const char* algorithm;
    const char* sections;
    const char* key;  // "" if they fit.
  };
  constexpr Case kCases[] = {
      {"name: impala", "actor: {inference: server}\n", ""},
      {"name: impala", "learner: {gradients: push}\n", ""},
      {"name: impala", "actor: {inference: server}\nlearner: {gradients: push}\n", "actor.inference: server"},
      {"name: impala", "learner: {gradients: push, processes: 2}\n", ""},
      {"name: impala", "actor: {inference: server}\nlearner: {gradients: push, processes: 2}\n",
       "learner.processes: 2"},
      {"name: a2c, normalize_returns: false", "learner: {gradients: push, processes: 2}\n",
       "learner.gradients: got push; wanted local, or learner.processes: 1"},
      {"name: a2c", "learner: {processes: 2}\n", ""},
      {"name: apex_dqn", "learner: {gradients: push}\n", "learner.processes of at least 2"},
      {"name: impala, entropy: {rule: stages}", "learner: {gradients: push, processes: 2}\n",
       "learner.gradients: push: "},
      {"name: impala, entropy: {rule: stages}", "learner: {processes: 2}\n", ""},
      {"name: apex_dqn", "learner: {gradients: push, processes: 2}\n", ""},
      {"name: impala", "learner: {processes: 2}\n", ""},
      {"name: impala, normalize_returns: true", "", ""},
      {"name: impala, normalize_returns: true", "learner: {processes: 2}\n", ""},
      {"name: impala, normalize_returns: true", "learner: {gradients: push, processes: 2}\n",
       "algorithm.normalize_returns: "},
      {"name: impala, normalize_returns: true", "learner: {gradients: push}\n", "algorithm.normalize_returns: "},
      {"name: impala, rho_clip: 2, c_clip: 1.5", "", ""},
      {"name: impala, rho_clip: 1, c_clip: 1.5", "", "c_clip: got 1.5"},
      {"name: a2c, normalize_returns: false", "learner: {gradients: push}\n", ""},
      {"name: a2c", "actor: {inference: server}\n", "actor.inference: server"},
      {"name: ppo", "learner: {gradients: push}\n", "learner.gradients: push"},
      {"name: ppo, unroll: 5, minibatches: 7", "actor: {lanes: 3}\n", ""},
      // A minibatch of one step has no mean to normalise by.
      {"name: ppo, unroll: 5, minibatches: 8", "actor: {lanes: 3}\n", "algorithm.minibatches: got 8"},
      {"name: ppo, unroll: 5, minibatches: 16", "actor: {lanes: 3}\n", "algorithm.minibatches: got 16"},
      {"name: ppo, unroll: 5, minibatches: 3", "actor: {lanes: 3}\nnetworks: {actor_critic: {core: {type: lstm}}}\n",
       ""},
      {"name: ppo, unroll: 5, minibatches: 4", "actor: {lanes: 3}\nnetworks: {actor_critic: {core: {type: lstm}}}\n",
       "algorithm.minibatches: got 4"},
      {"name: apex_dqn, target_update_rate: 0.01, update_steps: 100", "", "update_steps: got 100"},
      {"name: apex_dqn, mode: vanilla, update_steps: 100", "", "update_steps"},
      {"name: apex_dqn, exploration: {type: gaussian, epsilon: 0.1}", "", "algorithm.exploration.epsilon: "},
      {"name: mdq, target_entropy: 0.5", "", ""},
      {"name: mdq, target_entropy: 100", "", "algorithm.target_entropy: got 100; wanted less than "},
      {"name: ppg", "networks: {actor_critic: {heads: {value_auxiliary: {shares: nothing}}}}\n",
       "networks.actor_critic.heads.value_auxiliary.shares: got nothing"},
      {"name: sac, learn_temperature: false, target_entropy: -1", "", "algorithm.target_entropy: "},
  };
  for (const Case& one : kCases) {
    INFO(one.algorithm << ", " << one.sections);
    const std::string problem = Problem(one.algorithm, one.sections);
    CHECK(problem.empty() == (*one.key == '\0'));
    CHECK_THAT(problem, Catch::Contains(one.key));
  }
}

TEST_CASE("a target of an entropy must be below that of a uniform choice", "[unit]") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const auto check = [&](const char* algorithm) {
    return CheckAgainstEnvironment(ValueOf(Parse(algorithm)), EnvironmentOf({Discrete("action", 2)}), definitions);
  };
  REQUIRE_OK(check("name: sac, target_entropy: 0.69"));
  CHECK_THAT(std::string(check("name: sac, target_entropy: 0.7").message()),
             Catch::Contains("algorithm.target_entropy: got 0.7; wanted less than 0.69"));
}

TEST_CASE("importance weights are for samplers that draw by priority", "[unit]") {
  const std::string prioritized = "replay: {sampler: {kind: prioritized}}\n";
  const std::string uniform = "replay: {sampler: {kind: uniform}}\n";
  for (const std::string algorithm : {"apex_dqn", "r2d2", "ddpg", "td3", "sac"}) {
    INFO(algorithm);
    const std::string name = "name: " + algorithm;
    for (const char* const given : {"0", "0.6", "1", "{from: 0.4, to: 1, of: learner_steps, until: 100000}"}) {
      const std::string exponent = absl::StrCat(name, ", importance_exponent: ", given);
      CHECK(Problem(exponent, prioritized).empty());
      CHECK_THAT(Problem(exponent, uniform), Catch::Contains("algorithm.importance_exponent: means nothing"));
    }
    CHECK_THAT(Problem(name + ", importance_exponent: 1.5", prioritized),
               Catch::Contains("algorithm.importance_exponent: "));
    // A sampler that is misspelled may be one that draws by priority.
    CHECK_THAT(Problem(name + ", importance_exponent: 0.5", "replay: {sampler: {kind: prioritised}}\n"),
               Catch::Contains("sampler.kind: ") && !Catch::Contains("importance_exponent"));
    CHECK_THAT(Problem(name, "replay: {sampler: {kind: uniform, priority_epsilon: 0.5}}\n"),
               Catch::Contains("replay.sampler.priority_epsilon: "));
    const Experiment alike = ValueOf(Parse(name, uniform));
    CHECK(alike.algorithm_options->ImportanceExponentAt(Progress()) == 0);
    CHECK_THAT(ToYaml(alike), !Catch::Contains("importance_exponent"));
    CHECK(ValueOf(Parse(name, prioritized)).algorithm_options->ImportanceExponentAt(Progress()) ==
          (algorithm == "r2d2" ? 0.6 : 0.4));
    // The earlier name of a key is an error that has the new one.
    CHECK(Problem(name + ", target_update_rate: 0.5").empty());
    CHECK_THAT(Problem(name + ", update_rate: 0.5"),
               Catch::Contains("algorithm.update_rate: ") && Catch::Contains("\"target_update_rate\""));
  }
}

TEST_CASE("a file with every key of an earlier version is read if it is stored, and refused from a user", "[unit]") {
  const std::string yaml =
      "algorithm:\n"
      "  name: apex_dqn\n"
      "  importance_exponent: 0.4\n"
      "  priority_epsilon: 0.01\n"
      "  update_rate: 0.02\n"
      "  exploration: {type: epsilon_greedy}\n"
      "  optimizer: {type: sgd, beta1: 0.9, amsgrad: false}\n"
      "networks:\n"
      "  q:\n"
      "    torso: [{type: mlp, units: [8], channels: 32, kernel: 3}]\n"
      "    core: {type: none, units: 64}\n"
      "    heads: {q: {type: dueling, std: free, initial_std: 1, min_log_std: -20, max_log_std: 2}}\n"
      "replay:\n"
      "  sampler: {kind: uniform, priority_exponent: 0.6, priority_epsilon: 0, recent_share: 0, recent_items: 1}\n"
      "  rate_limiter: {samples_per_insert: 0, error_buffer: 0}\n"
      "  log_sync: true\n"
      "learner: {inference: {batch_rows: 256}, gradient_server: {reducers: 0, batch: 1}}\n"
      "evaluation: {enabled: false, episodes: 20}\n"
      "stop: {max_seconds: 1}\n";
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const std::string strict(ParseExperiment(yaml, "x.yaml", {}, definitions).status().message());
  for (const char* const key : {"importance_exponent", "priority_epsilon", "update_rate", "beta1", "channels",
                                "core.units", "sampler.priority_exponent", "error_buffer", "log_sync",
                                "learner.inference", "learner.gradient_server", "evaluation.episodes"}) {
    CHECK_THAT(strict, Catch::Contains(key));
  }
  const Experiment experiment = testing::ValueOf(ParseStoredExperiment(yaml, "x.yaml", {}, definitions));
  CHECK(experiment.networks.at("q").torso[0].units == std::vector<int64_t>{8});
  CHECK_THAT(ToYaml(experiment), Catch::Contains("  target_update_rate: 0.02\n"));
  REQUIRE_OK(CheckAgainstEnvironment(experiment, EnvironmentOf({Discrete("action", 2)}), definitions));
  // The printed file has no such keys.
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "x.yaml", {}, definitions))) == ToYaml(experiment));
  // An unknown key is an error there too.
  REQUIRE_CODE(ParseStoredExperiment(yaml + "lerner: {}\n", "x.yaml", {}, definitions).status(),
               absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
