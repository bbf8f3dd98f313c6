#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/config/experiment/experiment_plan.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeAlgorithms;
using ::waggle::testing::FakeEnvironmentSpec;
using ::waggle::testing::FakeOptions;
using ::waggle::testing::ValueOf;

using Overrides = std::vector<std::pair<std::string, std::string>>;

const char kMinimal[] = "algorithm: {name: fake}\nstop: {max_seconds: 1}\n";

absl::StatusOr<Experiment> Parse(const std::string& yaml, const Overrides& overrides = {}) {
  return ParseExperiment(yaml, "x.yaml", overrides, FakeAlgorithms());
}

TEST_CASE("Every section is read", "[unit]") {
  const Experiment experiment =
      ValueOf(Parse("experiment: {name: pole.1, seed: 7}\n"
                    "environment: {name: Other-v0}\n"
                    "algorithm: {name: fake, n_step: 3, discount: 0.9}\n"
                    "network: {torso: [{type: mlp, units: [32]}], heads: {q: {type: dueling}}}\n"
                    "replay: {max_items: 5000, sampler: {kind: uniform}, durability: log,\n"
                    "  rate_limiter: {min_items: 10, samples_per_insert: 8, error_buffer: 640}}\n"
                    "actor: {processes: 3, lanes: 4, device: 'cuda:1'}\n"
                    "learner: {batch_size: 64, checkpoint: {keep: 9}}\n"
                    "evaluation: {episodes: 5}\n"
                    "stop: {target_return: -3, max_env_steps: 10}\n"));
  CHECK(experiment.experiment.name == "pole.1");
  CHECK(experiment.experiment.seed == 7);
  CHECK(experiment.environment.name == "Other-v0");
  CHECK(static_cast<const FakeOptions&>(*experiment.algorithm_options).n_step == 3);
  CHECK(experiment.networks.at("q").torso.at(0).units == std::vector<int64_t>{32});
  CHECK(experiment.networks.at("q").heads.at("q").type == "dueling");
  CHECK(experiment.replay.table.sampler.kind == SelectorKind::kUniform);
  CHECK(experiment.replay.table.rate_limiter.min_items == 10);
  CHECK(experiment.replay.table.durability == Durability::kLog);
  CHECK(experiment.actor.device == "cuda:1");
  CHECK(experiment.learner.checkpoint.keep == 9);
  CHECK(experiment.evaluation.episodes == 5);
  CHECK(experiment.stop.target_return == -3.0);
}

TEST_CASE("actor.processes is a number, or the fewest and the most that there may be", "[unit]") {
  const auto actors = [](const std::string& processes) {
    return ValueOf(Parse(absl::StrCat(kMinimal, "actor: {processes: ", processes, "}\n"))).actor;
  };
  CHECK(actors("3").least_processes == 3);
  CHECK(actors("3").processes == 3);
  CHECK(actors("{min: 2, max: 16}").least_processes == 2);
  CHECK(actors("{min: 2, max: 16}").processes == 16);
  const Experiment elastic = ValueOf(Parse(absl::StrCat(kMinimal, "actor: {processes: {min: 2, max: 16}}\n")));
  CHECK(ValueOf(Parse(ToYaml(elastic))).actor.least_processes == 2);
  CHECK(ToYaml(ValueOf(Parse(ToYaml(elastic)))) == ToYaml(elastic));
  for (const char* const wrong : {"{min: 3, max: 2}", "{min: 0, max: 2}", "-1", "{least: 1}", "[1, 2]"}) {
    INFO(wrong);
    const absl::Status refused = Parse(absl::StrCat(kMinimal, "actor: {processes: ", wrong, "}\n")).status();
    CHECK(absl::IsInvalidArgument(refused));
    CHECK_THAT(std::string(refused.message()), Catch::Contains("actor.processes"));
  }
  CHECK(ValueOf(ParseExperiment(ToYaml(elastic), "x.yaml", {{"actor.processes", "5"}}, FakeAlgorithms()))
            .actor.least_processes == 5);
}

TEST_CASE("Overrides win over the file, and an optional value can be taken away", "[unit]") {
  const Experiment experiment = ValueOf(Parse("algorithm: {name: fake}\nstop: {target_return: 3, max_seconds: 1}\n",
                                              {{"learner.batch_size", "256"},
                                               {"stop.target_return", "null"},
                                               {"networks.q.torso", "[{units: [8, 8]}]"},
                                               {"algorithm.n_step", "5"}}));
  CHECK(experiment.learner.batch_size == 256);
  CHECK_FALSE(experiment.stop.target_return.has_value());
  CHECK(experiment.networks.at("q").torso.at(0).units == std::vector<int64_t>{8, 8});
  CHECK(static_cast<const FakeOptions&>(*experiment.algorithm_options).n_step == 5);
}

TEST_CASE("The effective experiment reads back as the same one", "[unit]") {
  const Experiment original =
      ValueOf(Parse("experiment: {name: \"007\", seed: 9223372036854775807}\n"
                    "algorithm: {name: fake, discount: 0.30000000000000004}\n"
                    "network: {torso: []}\n"
                    "stop: {target_return: 475.5}\n"));
  const std::string yaml = ToYaml(original);
  const Experiment again = ValueOf(Parse(yaml));
  CHECK(ToYaml(again) == yaml);
  CHECK(again.experiment.name == "007");
  CHECK(again.experiment.seed == 9223372036854775807);
  CHECK(static_cast<const FakeOptions&>(*again.algorithm_options).discount == 0.30000000000000004);
  CHECK(again.networks.at("q").torso.empty());
  CHECK(again.stop.target_return == 475.5);
}

TEST_CASE("An error in an experiment names the place, the value and the wanted values", "[unit]") {
  struct Case {
    std::string yaml;
    std::string errors;
  };
  const std::string m = kMinimal;
  const std::vector<Case> cases = {
      {"",
       "x.yaml:1: got nothing; wanted a mapping of sections\n"
       "x.yaml:1: algorithm.name: is missing; wanted one of fake, fake_continuous\n"
       "x.yaml:1: stop: nothing ends the run; wanted at least one of target_return, max_env_steps, "
       "max_learner_steps, max_seconds"},
      {"stop: {max_seconds: 1}\nalgorithm:\n  name: fakee\n  unknown_to_all: 1\n",
       "x.yaml:3: algorithm.name: got \"fakee\"; wanted one of fake, fake_continuous; did you mean \"fake\"?"},
      {"stop: {max_seconds: 1}\nalgorithm:\n  name: fake\n  nstep: 1\n",
       "x.yaml:4: algorithm.nstep: unknown key; did you mean \"n_step\"?"},
      {"stop: {max_seconds: 1}\nalgorithm:\n  name: fake\n  discount: 0\n",
       "x.yaml:4: algorithm.discount: 0 makes every step its own episode"},
      {m + "lerner: {}\n", "x.yaml:3: lerner: unknown key; did you mean \"learner\"?"},
      {m + "experiment:\n  name: ../x\n",
       "x.yaml:4: experiment.name: got \"../x\"; wanted 1 to 64 of the characters A-Z a-z 0-9 . _ -, with neither . "
       "nor - first"},
      {m + "environment: {name: ''}\n",
       "x.yaml:3: environment.name: got the text \"\"; wanted 1 to 128 of the characters A-Z a-z 0-9 . _ / -"},
      {m + "replay:\n  max_items: 10\n  rate_limiter:\n    min_items: 11\n",
       "x.yaml:6: replay.rate_limiter.min_items: 11 is more than max_items, 10: nothing could ever be sampled"},
      {m + "replay: {rate_limiter: {error_buffer: 10}}\n",
       "x.yaml:3: replay.rate_limiter.error_buffer: means nothing while samples_per_insert is 0; wanted none, or a "
       "samples_per_insert"},
      {m + "replay: {sampler: {kind: prioritised}}\n",
       "x.yaml:3: replay.sampler.kind: got \"prioritised\"; wanted one of uniform, prioritized, fifo, lifo, min_heap, "
       "max_heap; did you mean \"prioritized\"?"},
      {m + "replay:\n  rate_limiter:\n    samples_per_insert: 8\n    error_buffer: 67\n",
       "x.yaml:6: replay.rate_limiter.error_buffer: 67 is too small: with samples_per_insert 8 and batches of 128 it "
       "must be at least 68, or inserts and samples would block each other for ever"},
      {m + "replay:\n  rate_limiter: {samples_per_insert: 8, min_difference: 0, max_difference: 100}\n",
       "x.yaml:4: replay.rate_limiter: max_difference, 100, is 100 more than min_difference, 0: with "
       "samples_per_insert 8 and batches of 128 it must be 135, or inserts and samples would block each other for "
       "ever"},
      {m + "replay:\n  rate_limiter: {min_items: 1}\n  sampler: {without_replacement: true}\n  max_items: 100\n",
       "x.yaml:6: replay.max_items: 100: a batch of 128 different items (without_replacement) can never be drawn"},
      {m + "replay: {min_items: 5}\n",
       "x.yaml:3: replay.min_items: unknown key; did you mean \"rate_limiter.min_items\"?"},
      {m + "replay: {servers: 0}\n", "x.yaml:3: replay.servers: got the number 0; wanted an integer in [1, 1024]"},
      {"algorithm: {name: fake}\nstop: {max_seconds: 0}\n",
       "x.yaml:2: stop: nothing ends the run; wanted at least one of target_return, max_env_steps, "
       "max_learner_steps, max_seconds"},
      {"algorithm: {name: fake}\nstop: {target_return: 1}\nevaluation: {enabled: false}\n",
       "x.yaml:2: stop.target_return: needs evaluation.enabled: true, because only evaluations are compared with it"},
      {m + "a: &b 1\nc: *b\n", "x.yaml:4: aliases (*name) are not supported; write the value out"},
  };
  for (const Case& one : cases) {
    INFO(one.yaml);
    const absl::Status status = Parse(one.yaml).status();
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(status.message() == one.errors);
  }
}

TEST_CASE("a deterministic run has one of each process, ends by steps, and depends on no clock", "[unit]") {
  const std::string right =
      "experiment: {deterministic: true}\nalgorithm: {name: fake}\nstop: {max_env_steps: 100}\n"
      "replay: {rate_limiter: {samples_per_insert: 8}}\n";
  REQUIRE_OK(Parse(right).status());
  const auto problem = [&](const std::string& more) { return std::string(Parse(right + more).status().message()); };
  CHECK(problem("actor: {processes: 2}\n") == "x.yaml:5: actor.processes: experiment.deterministic is true; wanted 1");
  CHECK_THAT(problem("learner: {processes: 2}\n"), Catch::Contains("learner.processes: "));
  CHECK_THAT(problem("actor: {device: cuda}\n"), Catch::Contains("actor.device: "));
  CHECK_THAT(problem("learner: {device: cuda}\n"), Catch::Contains("learner.device: "));
  const std::string all_at_once(
      Parse(
          "experiment: {deterministic: true}\nalgorithm: {name: fake}\nstop: {max_seconds: 9}\nactor: {processes: 2}\n")
          .status()
          .message());
  for (const char* const key :
       {"stop.max_seconds: ", "actor.processes: ", "replay.rate_limiter.samples_per_insert: "}) {
    CHECK_THAT(all_at_once, Catch::Contains(key));
  }
}

TEST_CASE("a run with cuts has tables that outlive their servers, and one learner", "[unit]") {
  const std::string right =
      "experiment: {checkpoint: {period: 60}}\nalgorithm: {name: fake}\nstop: {max_env_steps: 100}\n"
      "replay: {durability: checkpoint}\n";
  REQUIRE_OK(Parse(right).status());
  CHECK_THAT(std::string(Parse(right + "learner: {processes: 2}\n").status().message()),
             Catch::Contains("learner.processes: got 2"));
  const absl::Status none =
      Parse("experiment: {checkpoint: {period: 60}}\nalgorithm: {name: fake}\nstop: {max_env_steps: 100}\n").status();
  CHECK_THAT(std::string(none.message()), Catch::Contains("replay.durability: got none"));
}

TEST_CASE("initial weights are a folder, and a map of parameters' prefixes", "[unit]") {
  const Experiment experiment = ValueOf(
      Parse(kMinimal, {{"learner.init", "{from: runs/1, map: {q.torso: policy.torso, q.heads: policy.heads}}"}}));
  CHECK(experiment.learner.init.from == "runs/1");
  CHECK(experiment.learner.init.map ==
        std::map<std::string, std::string>{{"q.torso", "policy.torso"}, {"q.heads", "policy.heads"}});
  CHECK(ToYaml(ValueOf(Parse(ToYaml(experiment)))) == ToYaml(experiment));
  CHECK_FALSE(ValueOf(Parse(kMinimal)).learner.init.is_given());
  const auto problem = [](const std::string& init) {
    return std::string(Parse(kMinimal, {{"learner.init", init}}).status().message());
  };
  CHECK_THAT(problem("{map: {q: q}}"), Catch::Contains("learner.init.from: is missing; wanted the folder of another"));
  CHECK_THAT(problem("{from: x, map: {q: 'a b'}}"),
             Catch::Contains("learner.init.map.q: got the text \"a b\"; wanted 1 to 128"));
}

TEST_CASE("a gradient server is for gradients that are pushed", "[unit]") {
  const Experiment experiment = ValueOf(Parse(kMinimal, {{"learner.gradients", "push"},
                                                         {"learner.gradient_server",
                                                          "{reducers: 2, reduce: sum, batch: 4, primary_batch: 2, "
                                                          "flush_seconds: 0.5, max_staleness: 8, stale: scale, "
                                                          "max_unacknowledged: 1}"}}));
  CHECK(experiment.learner.actors_push());
  const GradientServerOptions& server = experiment.learner.gradient_server;
  CHECK(server.reducers == 2);
  CHECK(server.reduce == "sum");
  CHECK(server.max_staleness == 8);
  CHECK_FALSE(ValueOf(Parse(kMinimal)).learner.actors_push());
  const auto refused = [](const Overrides& overrides, const std::string& why) {
    const absl::Status status = Parse(kMinimal, overrides).status();
    INFO(status.ToString());
    return absl::IsInvalidArgument(status) && status.message().find(why) != std::string::npos;
  };
  CHECK(refused({{"learner.gradients", "push"}, {"learner.init.from", "x"}}, "learner.init: means nothing if actors"));
  CHECK(refused({{"learner.gradient_server.reducers", "0"}}, "means nothing with gradients: local"));
  CHECK(refused({{"learner.gradients", "push"}, {"learner.gradient_server.batch", "1"}}, "while reducers is 0"));
  CHECK(refused({{"learner.gradients", "push"}, {"learner.gradient_server.stale", "refuse"}}, "without max_staleness"));
  CHECK(refused({{"learner.inference.batch_rows", "256"}}, "learner.inference: means nothing while each actor"));
  REQUIRE_OK(Parse(kMinimal, {{"actor.inference", "server"}, {"learner.inference.batch_rows", "256"}}));
  CHECK(refused({{"learner.gradients", "push"}, {"learner.gradient_server.flush_seconds", "0"}}, "flush_seconds"));
  // And for algorithms that change only one network's weights.
  const auto fits = [](const char* n_step) {
    const Experiment pushed = ValueOf(Parse(kMinimal, {{"learner.gradients", "push"}, {"algorithm.n_step", n_step}}));
    return CheckAgainstEnvironment(pushed, FakeEnvironmentSpec(), FakeAlgorithms());
  };
  REQUIRE_OK(fits("15"));
  REQUIRE_CODE(fits("1"), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("several learners push the gradients of any algorithm, and keys of actors that push mean nothing then",
          "[unit]") {
  const Overrides several = {{"learner.gradients", "push"}, {"learner.processes", "2"}};
  const Experiment experiment = ValueOf(Parse(kMinimal, several));
  CHECK(experiment.learner.learners_push());
  CHECK_FALSE(experiment.learner.actors_push());
  REQUIRE_OK(CheckAgainstEnvironment(experiment, FakeEnvironmentSpec(), FakeAlgorithms()));
  for (const char* const key : {"reducers", "max_unacknowledged"}) {
    Overrides with = several;
    with.emplace_back(absl::StrCat("learner.gradient_server.", key), "2");
    const absl::Status refused = Parse(kMinimal, with).status();
    CHECK(refused.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.message()), Catch::Contains(absl::StrCat("learner.gradient_server.", key, ": ")));
  }
}

TEST_CASE("observations are not normalised if gradients are pushed", "[unit]") {
  const auto fits = [](const char* gradients) {
    const Experiment experiment = ValueOf(Parse(
        kMinimal,
        {{"learner.gradients", gradients}, {"algorithm.n_step", "15"}, {"networks.q.normalize_observations", "true"}}));
    const absl::Status checked = CheckAgainstEnvironment(experiment, FakeEnvironmentSpec(), FakeAlgorithms());
    CHECK(PlanExperiment(experiment, FakeEnvironmentSpec(), FakeAlgorithms()).status() == checked);
    return checked;
  };
  REQUIRE_OK(fits("local"));
  const absl::Status refused = fits("push");
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()), Catch::StartsWith("networks.q.normalize_observations: "));
}

TEST_CASE("keys of evaluations mean nothing if there are none, and are not printed", "[unit]") {
  const std::string none = std::string(kMinimal) + "evaluation: {enabled: false";
  for (const char* const key : {"episodes: 20", "confirm_episodes: 100", "period_seconds: 1", "period_steps: 500",
                                "period_learner_steps: null"}) {
    const std::string name(key, std::string(key).find(':'));
    CHECK(Parse(none + ", " + key + "}\n").status().message() ==
          "x.yaml:3: evaluation." + name + ": means nothing while enabled is false; wanted none, or enabled: true");
  }
  CHECK_THAT(ToYaml(ValueOf(Parse(none + "}\n"))), Catch::Contains("evaluation:\n  enabled: false\nstop:"));
}

TEST_CASE("keys that a head does not have are not printed", "[unit]") {
  const std::string network = std::string(kMinimal) + "network: {heads: {q: {type: dueling}}}\n";
  CHECK_THAT(ToYaml(ValueOf(Parse(network))), !Catch::Contains("std"));
  CHECK_THAT(ToYaml(ValueOf(Parse(std::string(kMinimal) + "network: {heads: {q: {std: of_state, max_log_std: 1}}}\n"))),
             Catch::Contains("std: of_state\n") && Catch::Contains("max_log_std: 1\n") &&
                 !Catch::Contains("min_log_std") && !Catch::Contains("initial_std"));
}

TEST_CASE("Errors of the file and of the command line come together", "[unit]") {
  const absl::Status status = Parse("algorithm: {name: fake}\nstop: {max_second: 1}\n",
                                    {{"learner.batch_size", "3.7"}, {"learner.bach_size", "3"}, {"stop.x.y.", "1"}})
                                  .status();
  CHECK(status.message() ==
        "x.yaml:2: stop.max_second: unknown key; did you mean \"max_seconds\"?\n"
        "--set stop.x.y.=1: stop.x.y.: a part of the key is empty; wanted KEY=VALUE, such as learner.batch_size=256\n"
        "--set learner.batch_size=3.7: learner.batch_size: got the number 3.7; wanted an integer in [1, 1000000]\n"
        "--set learner.bach_size=3: learner.bach_size: unknown key; did you mean \"batch_size\"?");
}

TEST_CASE("Wrong names of environments and devices are reported with all other errors", "[unit]") {
  const std::string yaml =
      "algorithm: {name: fake}\nstop: {max_seconds: 1}\nenvironment:\n  name: Pole\nactor:\n  device: gpu\n"
      "  lanes: 0\nlearner:\n  device: 'cuda:'\n  bach_size: 3\n";
  const std::string errors(ParseExperiment(yaml, "x.yaml", {}, FakeAlgorithms(), {"Cart", "Poles"}).status().message());
  for (const char* const place : {"x.yaml:4: environment.name: ", "x.yaml:6: actor.device: ", "x.yaml:7: actor.lanes: ",
                                  "x.yaml:9: learner.device: ", "x.yaml:10: learner.bach_size: "}) {
    CHECK_THAT(errors, Catch::Contains(place));
  }
  // Without known names any name is taken; one of a wrong form is reported once.
  REQUIRE_OK(Parse("algorithm: {name: fake}\nstop: {max_seconds: 1}\nenvironment: {name: Pole}\n"));
  CHECK(ParseExperiment(kMinimal, "x.yaml", {{"environment.name", "a b"}}, FakeAlgorithms(), {"CartPole-v1"})
            .status()
            .message() ==
        "--set environment.name=a b: environment.name: got \"a b\"; wanted 1 to 128 of the characters A-Z a-z 0-9 . _ "
        "/ -");
}

absl::Status CheckWith(const Overrides& overrides, const EnvironmentSpec& environment = FakeEnvironmentSpec()) {
  return CheckAgainstEnvironment(ValueOf(Parse(kMinimal, overrides)), environment, FakeAlgorithms());
}

// The error, or nothing.
std::string Misfit(const Overrides& overrides, const EnvironmentSpec& environment = FakeEnvironmentSpec()) {
  return std::string(CheckWith(overrides, environment).message());
}

TEST_CASE("Facts of the environment that the algorithm or the network cannot take are named", "[unit]") {
  const std::pair<Overrides, const char*> cases[] = {
      {{{"algorithm.name", "fake_continuous"}}, "environment.name: "},
      {{{"network.heads", "{q: {type: duelling}}"}}, "networks.q.heads.q.type: "},
      {{{"networks.critic", "{torso: []}"}}, "networks.critic: "},
      {{{"algorithm.n_step", "13"}}, "algorithm.n_step: "},
      {{{"algorithm.n_step", "14"}}, "table \"experiment/replay\": "},
      {{{"network.torso", "[{type: conv}]"}}, "networks.q.torso[0]: "},
      {{{"replay.compression", "[{column: observasion}, {column: x, codec: zstd}]"}}, "replay.compression: "},
  };
  for (const auto& [overrides, key] : cases) {
    CHECK_THAT(Misfit(overrides), Catch::StartsWith(key));
  }
  REQUIRE_OK(CheckWith({{"replay.compression", "[{column: observation}]"}}));
  EnvironmentSpec broken = FakeEnvironmentSpec();
  broken.observations[0].array.shape = {-4};
  CHECK_THAT(Misfit({}, broken), Catch::StartsWith("environment: "));
}

TEST_CASE("Leaves that no network takes are refused before networks and tables are planned", "[unit]") {
  EnvironmentSpec spec = FakeEnvironmentSpec();
  spec.actions = {Discrete("action/arm", 2), Discrete("action/leg", 3)};
  CHECK(Misfit({{"network.torso", "[{type: conv}]"}, {"algorithm.n_step", "13"}}, spec) ==
        "environment.name: CartPole-v1 has 2 actions (action/arm, action/leg); algorithm fake wants one");
  spec = FakeEnvironmentSpec();
  spec.actions.push_back(Discrete("jump/action", 2));
  CHECK_THAT(Misfit({}, spec), Catch::StartsWith("environment: "));  // It is not even valid.
}

TEST_CASE("the short form means the only network, and excludes the long one", "[unit]") {
  const Experiment experiment = ValueOf(Parse(std::string(kMinimal) + "network: {torso: []}\n"));
  CHECK(experiment.networks.at("q").torso.empty());
  const absl::Status both = Parse(std::string(kMinimal) + "network: {}\nnetworks: {q: {torso: []}}\n").status();
  CHECK(std::string(both.message()).find("x.yaml:3: network: means the same as the only entry of networks") == 0);
}

TEST_CASE("All misfits with the environment are reported at once", "[unit]") {
  EnvironmentSpec large = FakeEnvironmentSpec();
  large.observations[0].array.shape = {15'000'000};
  const std::vector<std::string> lines = absl::StrSplit(
      Misfit({{"networks.critic", "{}"}, {"networks.q.torso", "[{type: conv}]"}, {"actor.lanes", "1"}}, large), '\n');
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Catch::StartsWith("networks.critic: "));
  CHECK_THAT(lines[1], Catch::StartsWith("networks.q.torso[0]: "));
  CHECK_THAT(lines[2], Catch::StartsWith("learner.batch_size: "));
  CHECK_THAT(lines[3], Catch::StartsWith("actor.lanes: "));
}

TEST_CASE("a table that cannot be spread over its servers is refused, and so is one without room for a batch",
          "[unit]") {
  REQUIRE_OK(CheckWith({{"replay.servers", "3"}}));
  CHECK_THAT(Misfit({{"replay.servers", "1000"}, {"replay.max_items", "500"}, {"replay.rate_limiter.min_items", "1"}}),
             Catch::StartsWith("replay.servers: 1000: ") && Catch::Contains("max_items: "));
  CHECK_THAT(Misfit({{"replay.servers", "2"},
                     {"replay.rate_limiter.samples_per_insert", "8"},
                     {"replay.rate_limiter.error_buffer", "135"}}),
             Catch::StartsWith("replay.servers: 2: ") && Catch::Contains("136"));
}

TEST_CASE("Batches and steps larger than one message are refused", "[unit]") {
  EnvironmentSpec large = FakeEnvironmentSpec();
  large.observations[0].array.shape = {1'000'000};
  REQUIRE_OK(CheckWith({{"learner.batch_size", "32"}, {"actor.lanes", "14"}}, large));
  CHECK_THAT(Misfit({{"learner.batch_size", "1000"}, {"actor.lanes", "14"}}, large),
             Catch::StartsWith("learner.batch_size: 1000: ") && Catch::Contains("536870912"));
  CHECK_THAT(Misfit({{"learner.batch_size", "32"}, {"actor.lanes", "15"}}, large),
             Catch::StartsWith("actor.lanes: 15: ") && Catch::Contains("60000120 bytes"));
  for (const int64_t elements : {15'000'000, 25'000'000}) {
    large.observations[0].array.shape = {elements};
    CHECK_THAT(Misfit({{"learner.batch_size", "1"}, {"actor.lanes", "1"}}, large),
               Catch::StartsWith("actor.lanes: 1: ") && Catch::Contains(std::to_string(4 * elements + 8) + " bytes"));
  }
}

std::string Mistakes(const std::string& yaml, const Overrides& overrides = {}) {
  std::optional<EnvironmentSpec> environment;
  return std::string(ParseAndCheckExperiment(
                         yaml, "x.yaml", overrides, FakeAlgorithms(), {},
                         [](const EnvironmentOptions&) { return FakeEnvironmentSpec(); }, &environment)
                         .status()
                         .message());
}

TEST_CASE("an experiment is checked even if its environment is unknown", "[unit]") {
  std::optional<EnvironmentSpec> environment;
  const auto parsed = ParseAndCheckExperiment(
      "algorithm: {name: fake}\nstop: {max_seconds: 1}\nenvironment: {gymnasium: {id: 'a:B'}}\n", "x.yaml", {},
      FakeAlgorithms(), {"gymnasium"}, [](const EnvironmentOptions&) { return std::nullopt; }, &environment);
  REQUIRE_OK(parsed);
  CHECK_FALSE(environment.has_value());
  CHECK(parsed->environment.name == "a/B");
  CHECK(parsed->environment.Offer() == "gymnasium");
}

TEST_CASE("an evaluation's environment is the experiment's, with its own keys in place of those", "[unit]") {
  const std::string yaml =
      "algorithm: {name: fake}\nstop: {max_seconds: 1}\n"
      "environment: {name: Fake, options: {a: 1, b: 2}}\nevaluation: {environment: {options: {b: 3}}}\n";
  const Experiment experiment = ValueOf(ParseExperiment(yaml, "x.yaml", {}, FakeAlgorithms()));
  CHECK(experiment.environment.options == R"({"a":1,"b":2})");
  CHECK(experiment.evaluation.environment.options == R"({"a":1,"b":3})");
  const Experiment again = ValueOf(ParseExperiment(ToYaml(experiment), "x.yaml", {}, FakeAlgorithms()));
  CHECK(again.evaluation.environment.options == R"({"a":1,"b":3})");
  CHECK(ToYaml(again) == ToYaml(experiment));
  const Experiment plain = ValueOf(ParseExperiment(
      "algorithm: {name: fake}\nstop: {max_seconds: 1}\nenvironment: {name: Fake}\n", "x.yaml", {}, FakeAlgorithms()));
  CHECK(plain.evaluation.environment.name == "Fake");
  CHECK_FALSE(plain.evaluation.has_own_environment);
  CHECK(ToYaml(plain).find("evaluation:\n  environment") == std::string::npos);
}

TEST_CASE("an evaluation's environment must be one in which the policy can act", "[unit]") {
  std::optional<EnvironmentSpec> environment;
  const auto checked = ParseAndCheckExperiment(
      "algorithm: {name: fake}\nstop: {max_seconds: 1}\nenvironment: {name: Fake}\n"
      "evaluation: {environment: {name: Other}}\n",
      "x.yaml", {}, FakeAlgorithms(), {},
      [](const EnvironmentOptions& options) {
        EnvironmentSpec spec = FakeEnvironmentSpec();
        spec.observations[0].array.shape = {options.name == "Other" ? 3 : 4};
        return spec;
      },
      &environment);
  REQUIRE_CODE(checked, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(checked.status().message()), Catch::Contains("evaluation.environment: got "));
}

TEST_CASE("problems that are found late have their place too", "[unit]") {
  const std::string yaml =
      "algorithm: {name: fake}\nstop: {max_seconds: 1}\nnetwork:\n  heads:\n    q: {type: duelling}\n";
  const std::string type = "type: got \"duelling\"; wanted one of q, dueling; did you mean \"dueling\"?";
  CHECK(Mistakes(yaml) == "x.yaml:5: network.heads.q." + type);
  CHECK(Mistakes(kMinimal, {{"networks.q.heads.q.type", "duelling"}}) ==
        "--set networks.q.heads.q.type=duelling: networks.q.heads.q." + type);
  CHECK_THAT(Mistakes(kMinimal, {{"algorithm.n_step", "14"}}),
             Catch::StartsWith("x.yaml: table \"experiment/replay\": "));
  CHECK(Mistakes(kMinimal).empty());
}

TEST_CASE("all mistakes of a file are reported at once, without those that only follow from others", "[unit]") {
  const std::string start = "algorithm: {name: fake}\nstop: {max_seconds: 1}\n";
  const std::string networks =
      "network:\n"
      "  torso: [{type: conv}]\n"
      "  join: sum\n"
      "  heads: {q: {type: duelling, std: free}, policy: {}}\n";
  const std::string learner = "learner:\n  bach_size: 3\n";
  CHECK_THAT(Mistakes(start + networks + learner), Catch::Contains("x.yaml:4: network.torso[0]: ") &&
                                                       Catch::Contains("x.yaml:6: network.heads.q.type: ") &&
                                                       Catch::Contains("x.yaml:6: network.heads.q.std: ") &&
                                                       Catch::Contains("x.yaml:6: network.heads.policy: ") &&
                                                       Catch::Contains("x.yaml:8: learner.bach_size: unknown key"));
  // A batch_size of 128 would be too large for replay.max_items.
  const std::string small =
      "replay: {max_items: 100, rate_limiter: {min_items: 1}, sampler: {without_replacement: true}}\n";
  CHECK_THAT(Mistakes(start + small), Catch::Contains("replay.max_items: "));
  CHECK(Mistakes(start + small + learner) == "x.yaml:5: learner.bach_size: unknown key; did you mean \"batch_size\"?");
  CHECK_THAT(Mistakes("algorithm: {name: fake, nstep: 1}\nstop: {max_seconds: 1}\n" + networks),
             Catch::Contains("x.yaml:1: algorithm.nstep: unknown key") && Catch::Contains("network.heads.q.type: "));
  CHECK(Mistakes("algorithm: {name: fakee}\nstop: {max_seconds: 1}\nnetwork: {torso: []}\n" + small) ==
        "x.yaml:1: algorithm.name: got \"fakee\"; wanted one of fake, fake_continuous; did you mean \"fake\"?");
  // An unknown section may stand for any known one.
  CHECK(Mistakes(start + networks + "lerner: {}\n") == "x.yaml:7: lerner: unknown key; did you mean \"learner\"?");
}

TEST_CASE("a table without room for an item, or for those with which learning begins, is refused", "[unit]") {
  const TableConfig table = ValueOf(PlanExperiment(ValueOf(Parse(kMinimal)), FakeEnvironmentSpec(), FakeAlgorithms()))
                                .algorithm.tables[0]
                                .table;
  const int64_t row_bytes = BytesARow(table.signature);
  const auto check = [&](int64_t rows, const Overrides& more) {
    Overrides overrides = {{"replay.rate_limiter.min_items", "1"}};
    overrides.insert(overrides.end(), more.begin(), more.end());
    overrides.emplace_back("replay.max_bytes", std::to_string(rows * row_bytes));
    REQUIRE_OK(CheckWith(overrides));
    overrides.back().second = "1";
    CHECK_THAT(Misfit(overrides),
               Catch::StartsWith("replay.max_bytes: ") && Catch::Contains(std::to_string(rows * row_bytes) + ", "));
    overrides.back().second = std::to_string(rows * row_bytes - 1);
    CHECK_THAT(Misfit(overrides), Catch::StartsWith("replay.max_bytes: "));
  };
  check(table.max_window, {});
  check(3 * table.max_window, {{"replay.servers", "3"}});
  check(500, {{"replay.rate_limiter.min_items", "500"}});
}

}  // namespace
}  // namespace waggle
