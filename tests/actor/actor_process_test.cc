#include "actor/actor_process.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "actor/environments/environment.h"
#include "common/base/threads/thread.h"
#include "common/config/spec/environment_spec.h"
#include "tests/actor/fakes.h"
#include "tests/actor/importing/scripted_episodes.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/slices.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::FakeHub;
using testing::RecordingWriter;
using testing::ScriptedSubscriber;
using testing::SnapshotOf;

constexpr char kExperiment[] = R"(
experiment: {name: counting, seed: 3}
environment: {name: Counting}
algorithm: {name: fake, n_step: 2}
actor: {lanes: 4, chunk_rows: 5, processes: 2}
evaluation: {episodes: 6, period_seconds: 0.01}
stop: {max_seconds: 100}
)";

// Passes its blocks to the fixture, which outlives it.
class ForwardingWriter : public ReplayWriter {
 public:
  explicit ForwardingWriter(RecordingWriter* target) : target_(target) {}
  absl::Status Append(InsertBlock block, const StopToken& stop) override {
    return target_->Append(std::move(block), stop);
  }
  absl::Status Flush(absl::Duration timeout) override { return target_->Flush(timeout); }
  Stats stats() const override { return target_->stats(); }

 private:
  RecordingWriter* const target_;
};

class FakeReplay : public ReplayConnection {
 public:
  struct Record {
    std::vector<std::string> addresses;
    std::vector<TableConfig> tables;
    ReplayWriterOptions writer;
    RecordingWriter sink;
    absl::Status create_result;
  };
  explicit FakeReplay(Record* record) : record_(record) {}

  absl::Status CreateTable(const TableConfig& config, const StopToken&) override {
    record_->tables.push_back(config);
    return record_->create_result;
  }
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) override {
    record_->writer = options;
    return std::make_unique<ForwardingWriter>(&record_->sink);
  }
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions&) override {
    return absl::UnimplementedError("an actor samples nothing");
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string&) override {
    return absl::UnimplementedError("an actor updates nothing");
  }

 private:
  Record* const record_;
};

class Fixture {
 public:
  Fixture() {
    REQUIRE_OK(environments_.Register("Counting", CountingEnvironment::Definition(6)));
    ports.hub = &hub;
    ports.metrics = &metrics;
    ports.environments = &environments_;
    ports.algorithms = &algorithms_;
    ports.connect_replay = [this](const std::vector<std::string>& addresses) {
      replay.addresses = addresses;
      return absl::StatusOr<std::unique_ptr<ReplayConnection>>(std::make_unique<FakeReplay>(&replay));
    };
    ports.new_subscriber = [this](const std::string& name) {
      model = name;
      return absl::StatusOr<std::unique_ptr<ModelSubscriber>>(std::make_unique<ScriptedSubscriber>(script));
    };
    ports.new_policy = [this](const PolicyRequest& asked) {
      request = asked;
      request.experiment = nullptr;  // Does not outlive the policy.
      return absl::StatusOr<std::unique_ptr<Policy>>(std::make_unique<CountingPolicy>());
    };
    ports.process_id = "actor-1-abc";
  }

  // Provides all that an actor needs. Its run is over after `blocks`.
  void StartRun(size_t blocks, int64_t index = 1, uint64_t life = 0) {
    script->Add(SnapshotOf(5));
    hub.Set([index, life](Assignment* assignment) {
      assignment->run_state = RunState::kRunning;
      assignment->experiment_yaml = kExperiment;
      assignment->replay_servers = {"replay:1"};
      assignment->index = index;
      assignment->life = life;
      assignment->earlier_env_steps = 801;
    });
    EndAfter(blocks);
  }

  void EndAfter(size_t blocks) {
    replay.sink.on_append = [this, blocks](const StopToken&) {
      if (replay.sink.blocks.size() + 1 == blocks) {
        hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kSolved; });
      }
      return absl::OkStatus();
    };
  }

  // Its run is over after the first evaluation.
  void EndAtEvaluation() {
    hub.on_evaluation = [this](const Evaluation&) {
      hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kLimit; });
    };
  }

  FakeHub hub;
  Metrics metrics;
  FakeReplay::Record replay;
  const std::shared_ptr<ScriptedSubscriber::Script> script = std::make_shared<ScriptedSubscriber::Script>();
  std::string model;
  PolicyRequest request;
  ActorPorts ports;

 private:
  EnvironmentDefinitions environments_{"environment"};
  const AlgorithmDefinitions algorithms_ = testing::FakeAlgorithms();
};

// The seeds of the environments whose first rows are in a block; the first column is the observation.
std::vector<float> SeedsOf(const InsertBlock& block) {
  const std::string data = testing::BytesOf(block.data);
  std::vector<float> seeds;
  size_t row = 0;
  for (const ChunkInfo& chunk : block.chunks) {
    if (chunk.first_row == 0) {
      float seed = 0;
      std::memcpy(&seed, data.data() + row * 3 * sizeof(float), sizeof(seed));
      seeds.push_back(seed);
    }
    row += chunk.rows;
  }
  return seeds;
}

TEST_CASE("an actor waits for all that it needs, in any order, and acts until the run is over", "[unit]") {
  Fixture fixture;
  fixture.EndAfter(4);
  Thread world("world", [&fixture] {
    fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kRunning; });
    fixture.script->Add(SnapshotOf(5));
    fixture.hub.Set([](Assignment* assignment) { assignment->replay_servers = {"", "replay:2", "replay:3"}; });
    fixture.hub.Set([](Assignment* assignment) {
      assignment->index = 1;
      assignment->experiment_yaml = std::string(kExperiment) + "replay: {servers: 2}\n";
    });
    fixture.hub.Set([](Assignment* assignment) { assignment->replay_servers[0] = "replay:1"; });
  });
  REQUIRE_OK(RunActor(fixture.ports));

  REQUIRE(fixture.hub.environment() == CountingEnvironment(6, 0).spec());
  REQUIRE(fixture.replay.addresses == std::vector<std::string>{"replay:1", "replay:2"});
  REQUIRE(fixture.replay.tables.at(0).name == "counting/replay");
  REQUIRE(fixture.replay.writer.writer_id == "actor-1-abc");
  REQUIRE(fixture.replay.writer.tables == std::vector<std::string>{"counting/replay"});
  REQUIRE(fixture.replay.writer.signature == fixture.replay.tables[0].signature);
  REQUIRE(fixture.model == "counting");
  REQUIRE(fixture.request.lanes == 4);
  REQUIRE(fixture.request.first_lane == 4);
  REQUIRE(fixture.request.all_lanes == 8);
  REQUIRE(fixture.replay.sink.blocks.size() >= 4);
  REQUIRE(testing::RowsOfLane(fixture.replay.sink.blocks[0]) == 5);
  REQUIRE(fixture.replay.sink.blocks[0].chunks.back().stream == 3);
  REQUIRE(fixture.replay.sink.blocks[0].policy_version == 5);
  REQUIRE(fixture.replay.sink.flushes == 1);
  REQUIRE(fixture.hub.failures().empty());
  REQUIRE(fixture.hub.farewells() == 1);
}

TEST_CASE("an actor's randomness follows from the run's seed and its index", "[unit]") {
  std::map<int64_t, std::vector<float>> seeds;
  std::map<int64_t, uint64_t> policy_seeds;
  for (const int64_t index : {0, 1, 0}) {
    Fixture fixture;
    fixture.StartRun(1, index);
    REQUIRE_OK(RunActor(fixture.ports));
    const std::vector<float> lanes = SeedsOf(fixture.replay.sink.blocks.at(0));
    REQUIRE(std::set<float>(lanes.begin(), lanes.end()).size() == 4);
    if (seeds.count(index) > 0) {
      REQUIRE(seeds[index] == lanes);
      REQUIRE(policy_seeds[index] == fixture.request.seed);
    }
    seeds[index] = lanes;
    policy_seeds[index] = fixture.request.seed;
  }
  REQUIRE(seeds[0] != seeds[1]);
  REQUIRE(policy_seeds[0] != policy_seeds[1]);
}

TEST_CASE("a restarted actor or evaluator draws new random numbers and continues its exploration", "[unit]") {
  std::vector<float> seeds_of_life[2];
  uint64_t policy_seeds[2] = {};
  for (const uint64_t life : {uint64_t{0}, uint64_t{1}}) {
    Fixture fixture;
    fixture.StartRun(1, 0, life);
    REQUIRE_OK(RunActor(fixture.ports));
    seeds_of_life[life] = SeedsOf(fixture.replay.sink.blocks.at(0));
    policy_seeds[life] = fixture.request.seed;
    REQUIRE(fixture.request.first_step == (life == 0 ? 0 : 801 / 8));  // The run has two actors of four lanes.
  }
  REQUIRE(seeds_of_life[0] != seeds_of_life[1]);
  REQUIRE(policy_seeds[0] != policy_seeds[1]);

  uint64_t evaluator_seeds[2] = {};
  for (const uint64_t life : {uint64_t{0}, uint64_t{1}}) {
    Fixture fixture;
    fixture.StartRun(0, 0, life);
    fixture.EndAtEvaluation();
    REQUIRE_OK(RunEvaluator(fixture.ports));
    evaluator_seeds[life] = fixture.request.seed;
  }
  REQUIRE(evaluator_seeds[0] != evaluator_seeds[1]);
}

TEST_CASE("an actor takes settings between blocks, once each", "[unit]") {
  Fixture fixture;
  std::vector<double> epsilons;
  fixture.ports.new_policy = [&epsilons](const PolicyRequest&) {
    auto policy = std::make_unique<CountingPolicy>();
    policy->on_exploration = [&epsilons](const ExplorationOptions& options) {
      epsilons.push_back(options.epsilon.At({}));
    };
    return absl::StatusOr<std::unique_ptr<Policy>>(std::move(policy));
  };
  fixture.StartRun(6);
  fixture.replay.sink.on_append = [&fixture, end = fixture.replay.sink.on_append](const StopToken& stop) {
    const size_t blocks = fixture.replay.sink.blocks.size();
    fixture.hub.Set([blocks](Assignment* assignment) {
      assignment->settings = absl::StrCat("algorithm.exploration.epsilon=", blocks < 3 ? 0.5 : 0.25, "\n");
    });
    return end(stop);
  };
  REQUIRE_OK(RunActor(fixture.ports));
  CHECK(epsilons == std::vector<double>{0.5, 0.25});
}

// Chooses 1, by any weights.
class StillPolicy : public Policy {
 public:
  explicit StillPolicy(std::vector<uint64_t>* loaded) : loaded_(loaded) {}

  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {}; }
  absl::Status Act(const PolicyInput& input, ActMode, PolicyOutput* output) override {
    std::fill_n(static_cast<int64_t*>(output->actions[0]), input.rows(), int64_t{1});
    return absl::OkStatus();
  }
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override {
    loaded_->push_back(snapshot.version.version);
    return absl::OkStatus();
  }

 private:
  std::vector<uint64_t>* const loaded_;
};

TEST_CASE("in self-play an actor reports the environment of one agent, and has a policy for each opponent", "[unit]") {
  Fixture fixture;
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  fixture.ports.environments = &environments;
  std::vector<uint64_t> seeds;
  std::vector<uint64_t> loaded;
  fixture.ports.new_policy = [&](const PolicyRequest& request) {
    seeds.push_back(request.seed);
    return absl::StatusOr<std::unique_ptr<Policy>>(std::make_unique<StillPolicy>(&loaded));
  };
  fixture.StartRun(3);
  fixture.hub.Set([](Assignment* assignment) {
    assignment->experiment_yaml = absl::StrReplaceAll(
        kExperiment, {{"name: Counting", "name: CatchDuel-v0"}, {"lanes: 4,", "lanes: 4, self_play: {size: 2},"}});
  });
  REQUIRE_OK(RunActor(fixture.ports));
  const std::optional<EnvironmentSpec> reported = fixture.hub.environment();
  REQUIRE(reported.has_value());
  CHECK(AgentsOf(*reported) == std::vector<std::string>{""});
  CHECK(std::set<uint64_t>(seeds.begin(), seeds.end()).size() == 4);  // The actor's own, the newest and two kept ones.
  CHECK(loaded == std::vector<uint64_t>{5, 5, 5});  // The actor, the newest opponent and the first kept one.
  CHECK(fixture.replay.sink.blocks.size() >= 3);
}

TEST_CASE("an actor asks for steps if the run has a limit on them", "[unit]") {
  Fixture fixture;
  fixture.StartRun(1'000'000);
  fixture.hub.Set([](Assignment* assignment) {
    const std::string words = "max_seconds: 100";
    assignment->experiment_yaml.insert(assignment->experiment_yaml.find(words), "max_env_steps: 60, ");
  });
  fixture.hub.on_take_steps = [&fixture](const StepRequest& request) -> absl::StatusOr<int64_t> {
    if (request.used >= 60) {
      fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kLimit; });
    }
    return 60;
  };
  REQUIRE_OK(RunActor(fixture.ports));
  REQUIRE(fixture.hub.step_requests().at(0).block == 4 * 5);
  REQUIRE(fixture.hub.step_requests().back().used < 60 + 4);
  REQUIRE(fixture.metrics.TakeSnapshot().counters["env_steps"] ==
          static_cast<double>(fixture.hub.step_requests().back().used));
}

// Its own environment's episodes: three of four steps.
std::unique_ptr<testing::ScriptedEpisodes> Recorded(bool says_environment) {
  auto episodes = std::make_unique<testing::ScriptedEpisodes>(testing::ScriptedRows({4, 4, 4}));
  if (says_environment) {
    episodes->SetEnvironment(testing::ScriptedSpec());
  }
  return episodes;
}

TEST_CASE("without actors the first one imports recorded episodes, and opens no environment if they say theirs",
          "[unit]") {
  Fixture fixture;
  std::string opened;
  fixture.ports.open_episodes = [&opened](const std::string& name, const std::string&, const StopToken&) {
    opened = name;
    return absl::StatusOr<std::unique_ptr<EpisodeSource>>(Recorded(/*says_environment=*/true));
  };
  fixture.StartRun(1'000, /*index=*/0);
  fixture.hub.Set([](Assignment* assignment) {
    assignment->experiment_yaml =
        absl::StrReplaceAll(kExperiment, {{"processes: 2", "processes: 0"}, {"name: Counting", "name: Unknown"}});
    assignment->experiment_yaml += "replay: {import: some.replay, rate_limiter: {min_items: 1}}\n";
  });
  const StopToken ended;
  absl::Status status;
  Thread actor("actor", [&] {
    status = RunActor(fixture.ports);
    ended.RequestStop();
  });
  testing::Eventually("the episodes are imported",
                      [&fixture] { return fixture.metrics.TakeSnapshot().activity == "does not act"; });
  fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kLimit; });
  actor.Join();
  REQUIRE_OK(status);
  CHECK(opened == "some.replay");
  CHECK(fixture.hub.environment() == testing::ScriptedSpec());
  CHECK(fixture.replay.writer.writer_id == "counting/import");
  CHECK(fixture.replay.writer.repeats.has_value());
  size_t items = 0;
  for (const InsertBlock& block : fixture.replay.sink.blocks) {
    items += block.items.size();
  }
  CHECK(items == 12);
  CHECK(fixture.metrics.TakeSnapshot().counters["imported_steps"] == 12);
  CHECK(fixture.metrics.TakeSnapshot().counters["env_steps"] == 0);
}

TEST_CASE("recorded episodes of another environment, and too many for the table, end the run with a sentence",
          "[unit]") {
  const auto failure = [](const std::string& environment, const std::string& replay) {
    Fixture fixture;
    fixture.ports.open_episodes = [&environment](const std::string&, const std::string&, const StopToken&) {
      return absl::StatusOr<std::unique_ptr<EpisodeSource>>(Recorded(environment == "theirs"));
    };
    fixture.StartRun(1'000, /*index=*/0);
    fixture.hub.Set([&replay](Assignment* assignment) {
      assignment->experiment_yaml = absl::StrReplaceAll(kExperiment, {{"processes: 2", "processes: 0"}});
      assignment->experiment_yaml += absl::StrCat("replay: {import: some.replay", replay, "}\n");
    });
    const absl::Status status = RunActor(fixture.ports);
    CHECK(absl::IsInvalidArgument(status));
    CHECK(fixture.hub.failures().size() == 1);
    return std::string(status.message());
  };
  CHECK_THAT(failure("the actor's", ""),
             Catch::StartsWith("replay.import: scripted: ") &&
                 Catch::Contains("observation: float32[1]; wanted observation: float32[3]"));
  CHECK_THAT(failure("theirs", ", max_items: 10, rate_limiter: {min_items: 1}"),
             Catch::Contains("replay.max_items: got 10; wanted at least the 12 recorded steps"));
  CHECK_THAT(failure("theirs", ", rate_limiter: {min_items: 13}"),
             Catch::Contains("replay.rate_limiter.min_items: got 13; wanted at most the 12 recorded steps"));
}

TEST_CASE("an evaluator evaluates the newest weights and reports until the run is over", "[unit]") {
  Fixture fixture;
  fixture.StartRun(0);
  fixture.EndAtEvaluation();
  REQUIRE_OK(RunEvaluator(fixture.ports));
  REQUIRE(fixture.hub.evaluations().at(0).version == ModelVersion{1, 5});
  REQUIRE(fixture.hub.evaluations()[0].episodes == 6);
  REQUIRE(fixture.request.lanes == 6);
  REQUIRE(fixture.replay.addresses.empty());
  REQUIRE_FALSE(fixture.hub.environment().has_value());
  REQUIRE(fixture.hub.farewells() == 1);
}

TEST_CASE("when training is over an actor stops acting, and stays until the run is over", "[unit]") {
  Fixture fixture;
  fixture.StartRun(0);
  fixture.replay.sink.on_append = [&fixture](const StopToken&) {
    fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kFinishing; });
    return absl::OkStatus();
  };
  const StopToken ended;
  absl::Status status;
  Thread actor("actor", [&] {
    status = RunActor(fixture.ports);
    ended.RequestStop();
  });
  testing::Eventually("the actor is done", [&fixture] { return fixture.metrics.TakeSnapshot().activity == "done"; });
  REQUIRE_FALSE(ended.StopRequested());
  fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kLimit; });
  actor.Join();
  REQUIRE_OK(status);
  REQUIRE(fixture.hub.farewells() == 1);
}

TEST_CASE("an evaluator that joins after training evaluates the last weights", "[unit]") {
  Fixture fixture;
  fixture.StartRun(0);
  fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kFinishing; });
  fixture.EndAtEvaluation();
  REQUIRE_OK(RunEvaluator(fixture.ports));
  REQUIRE(fixture.hub.evaluations().size() == 1);
}

TEST_CASE("an evaluator of an experiment without evaluation waits for the run's end", "[unit]") {
  Fixture fixture;
  fixture.hub.Set([](Assignment* assignment) {
    assignment->run_state = RunState::kRunning;
    assignment->experiment_yaml = std::string(kExperiment) + "\n";
    const size_t at = assignment->experiment_yaml.find("{episodes: 6");
    assignment->experiment_yaml.insert(at + 1, "enabled: false, ");
  });
  Thread world("world", [&fixture] {
    fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kSolved; });
  });
  REQUIRE_OK(RunEvaluator(fixture.ports));
  REQUIRE(fixture.hub.evaluations().empty());
  REQUIRE(fixture.hub.failures().empty());
}

TEST_CASE("a run that is over before it began is not a failure", "[unit]") {
  for (const auto& run : {RunActor, RunEvaluator}) {
    Fixture fixture;
    fixture.hub.Set([](Assignment* assignment) { assignment->run_state = RunState::kFailed; });
    REQUIRE_OK(run(fixture.ports));
    REQUIRE(fixture.hub.failures().empty());
    REQUIRE(fixture.hub.farewells() == 1);
  }
}

TEST_CASE("an actor's error is reported to the hub", "[unit]") {
  Fixture fixture;
  fixture.StartRun(100);
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string key;
  SECTION("another environment than the run's") {
    fixture.hub.AdoptEnvironment(false);
    fixture.hub.Set([](Assignment* assignment) { assignment->environment = testing::FakeEnvironmentSpec(); });
    code = absl::StatusCode::kFailedPrecondition;
    key = "environment: ";
  }
  SECTION("a broken experiment") {
    fixture.hub.Set([](Assignment* assignment) { assignment->experiment_yaml = "algorithm: {name: fake, n_stp: 1}"; });
    code = absl::StatusCode::kInvalidArgument;
    key = "n_stp";
  }
  SECTION("an environment that this actor does not have") {
    fixture.hub.Set([](Assignment* assignment) {
      const size_t at = assignment->experiment_yaml.find("Counting");
      assignment->experiment_yaml.replace(at, 8, "Countin9");
    });
    code = absl::StatusCode::kNotFound;
    key = "Counting";
  }
  SECTION("a table of that name that differs") {
    fixture.replay.create_result = absl::FailedPreconditionError("max_items: 10 and 20");
    code = absl::StatusCode::kFailedPrecondition;
    key = "counting/replay: max_items";
  }
  SECTION("a policy that cannot be made") {
    fixture.ports.new_policy = [](const PolicyRequest&) -> absl::StatusOr<std::unique_ptr<Policy>> {
      return absl::FailedPreconditionError("no such device: cuda:3");
    };
    code = absl::StatusCode::kFailedPrecondition;
    key = "cuda:3";
  }
  SECTION("a machine with too little memory") {
    fixture.ports.memory_bytes = int64_t{10} << 20;
    fixture.ports.new_policy = nullptr;
    code = absl::StatusCode::kResourceExhausted;
    key = "10 MiB";
  }
  const absl::Status status = RunActor(fixture.ports);
  REQUIRE_CODE(status, code);
  REQUIRE_THAT(std::string(status.message()), Catch::Contains(key));
  REQUIRE(fixture.hub.failures() == std::vector<absl::Status>{status});
  REQUIRE(fixture.hub.farewells() == 1);
}

TEST_CASE("a hub that refuses the worker is an error, though it stops the work like the run's end", "[unit]") {
  Fixture fixture;
  fixture.StartRun(100);
  fixture.replay.sink.on_append = [&fixture](const StopToken&) {
    fixture.hub.Refuse(absl::FailedPreconditionError("another software version"));
    return absl::OkStatus();
  };
  REQUIRE_CODE(RunActor(fixture.ports), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace waggle
