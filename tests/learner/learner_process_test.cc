#include "learner/learner_process.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "common/base/threads/thread.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/checkpoint/saved_model.h"
#include "tests/common/hub/ports/fake_hub_link.h"
#include "tests/learner/fakes.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"
#include "tests/support/eventually.h"
#include "tests/support/slices.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

// Gives one assignment, and ends the run once the learner reports that it is done.
class FakeHub : public testing::FakeHubLink {
 public:
  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken& stop) override {
    if (over.StopRequested() && !refusal.ok()) {
      return refusal;
    }
    if (!condition(before)) {
      stop.RequestStop();
      return absl::CancelledError("stopped");
    }
    return before;
  }
  void ReportFinalVersion(const ModelVersion& version) override { final_version = version; }
  const StopToken& run_over() const override { return run_goes_on ? run_ended : over; }

  std::optional<ModelVersion> final_version;
  bool run_goes_on = false;  // After training, until `run_ended` is stopped.
  StopToken run_ended;
};

// Batches of zeros for any table, once the first weights are published, as if made with these.
class ZeroSampler : public ReplaySampler {
 public:
  ZeroSampler(const ReplaySamplerOptions& options, int64_t batches, StopToken published, StopToken over)
      : layout_(std::make_shared<BatchLayout>(
            testing::ValueOf(MakeBatchLayout(options.table, options.batch_size, 1 << 20)))),
        left_(batches),
        published_(std::move(published)),
        over_(std::move(over)) {}

  absl::StatusOr<SampledBatch> Next(const StopToken&) override {
    published_.WaitFor(absl::Seconds(60));
    if (left_-- == 0) {
      over_.RequestStop();
      return absl::CancelledError("stopped");
    }
    SampledBatch batch;
    batch.layout = layout_;
    batch.bytes = AllocateBytes(layout_->total_bytes);
    std::memset(batch.bytes.get(), 0, layout_->total_bytes);
    const BatchField& field = *testing::ValueOf(layout_->Find(kItemProbability));
    auto* const probabilities = reinterpret_cast<double*>(batch.bytes.get() + field.offset);
    std::fill(probabilities, probabilities + field.spec.shape[0], 0.01);
    return batch;
  }
  Stats stats() const override { return Stats(); }

 private:
  const std::shared_ptr<const BatchLayout> layout_;
  int64_t left_;
  const StopToken published_;
  const StopToken over_;
};

class FakeReplay : public ReplayConnection {
 public:
  FakeReplay(StopToken published, StopToken over) : published_(std::move(published)), over_(std::move(over)) {}

  absl::Status CreateTable(const TableConfig& config, const StopToken&) override { return config.Validate(); }
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions&) override {
    return absl::FailedPreconditionError("a learner does not write");
  }
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override {
    return std::unique_ptr<ReplaySampler>(std::make_unique<ZeroSampler>(options, 20, published_, over_));
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string&) override {
    return std::unique_ptr<PriorityUpdater>(std::make_unique<testing::RecordingUpdater>());
  }

 private:
  const StopToken published_;
  const StopToken over_;
};

struct Fixture {
  Fixture() {
    hub.before.experiment_yaml =
        "experiment: {name: test}\nalgorithm: {name: apex_dqn}\nlearner: {batch_size: 8}\n"
        "stop: {max_env_steps: 1000}\n";
    hub.before.environment = testing::DqnEnvironment(4, 2);
    hub.before.replay_servers = {"localhost:1"};
    hub.before.epoch = 5;
  }

  absl::Status Run() {
    LearnerConnections connections;
    connections.hub = &hub;
    connections.metrics = &metrics;
    connections.connect_replay =
        [&](const std::vector<std::string>& addresses) -> absl::StatusOr<std::unique_ptr<ReplayConnection>> {
      connected_to = addresses;
      return std::unique_ptr<ReplayConnection>(std::make_unique<FakeReplay>(first_published, hub.over));
    };
    connections.new_publisher = [&] { return std::make_unique<RecordingPublisher>(this); };
    connections.new_subscriber = [&](const std::string& model) {
      return std::make_unique<HubWeights>(best, model == newest.model ? &newest : nullptr);
    };
    connections.new_peer_subscriber = [&](const std::string& experiment_id, const std::string& model) {
      asked_peers.push_back(experiment_id + " " + model);
      return std::make_unique<HubWeights>(best, &peer);
    };
    connections.definitions = &definitions;
    connections.algorithms = &algorithms;
    return RunLearner(options, connections);
  }

  class RecordingPublisher : public ModelPublisher {
   public:
    explicit RecordingPublisher(Fixture* fixture) : fixture_(fixture) {}
    absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& /*stop*/) override {
      MutexLock lock(&fixture_->mutex);
      fixture_->published.push_back(snapshot);
      if (fixture_->on_publish != nullptr) {
        fixture_->on_publish(snapshot.version);
      }
      fixture_->first_published.RequestStop();
      return absl::OkStatus();
    }

   private:
    Fixture* const fixture_;
  };

  class HubWeights : public ModelSubscriber {
   public:
    HubWeights(absl::StatusOr<std::optional<ModelSnapshot>> best, const ModelSnapshot* newest)
        : best_(std::move(best)), newest_(newest) {}
    absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion>, const StopToken&) override {
      return newest_ == nullptr ? std::nullopt : std::make_optional(*newest_);
    }
    absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken&) override { return best_; }
    absl::Status WaitNewer(std::optional<ModelVersion>, const StopToken&) override { return absl::OkStatus(); }

   private:
    const absl::StatusOr<std::optional<ModelSnapshot>> best_;
    const ModelSnapshot* const newest_;
  };

  FakeHub hub;
  Metrics metrics;
  LearnerProcessOptions options;
  std::vector<std::string> connected_to;
  Mutex mutex;
  std::vector<ModelSnapshot> published;
  absl::StatusOr<std::optional<ModelSnapshot>> best = std::optional<ModelSnapshot>();
  const StopToken first_published;
  std::function<void(const ModelVersion& version)> on_publish;
  ModelSnapshot newest;  // The hub's weights.
  ModelSnapshot peer;    // Those of another member of a population.
  std::vector<std::string> asked_peers;
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
};

TEST_CASE("a learner follows the hub until the run is over, and leaves a checkpoint", "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture fixture;
  fixture.options.output_dir = folder.path();
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.connected_to == std::vector<std::string>{"localhost:1"});
  CHECK(fixture.published.back().version == ModelVersion{5, 20});
  CHECK(fixture.metrics.TakeSnapshot().counters.at("learner_steps") == 20);
  CHECK(fixture.hub.reported == absl::OkStatus());

  Fixture restored;
  restored.options.output_dir = folder.path();
  REQUIRE_OK(restored.Run());
  const auto store = testing::ValueOf(CheckpointStore::OpenToRead(folder.File("checkpoints")));
  const auto last = testing::ValueOf(store->LoadLatest());
  CHECK(last->step == 40);
  CHECK(last->texts.at(kCheckpointExperiment) == fixture.hub.before.experiment_yaml);
  CHECK(last->texts.at(kCheckpointRun).substr(0, 5) == "test-");
}

TEST_CASE("a learner reports its last weights, and keeps the run's best when the run is over", "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture fixture;
  fixture.options.output_dir = folder.path();
  fixture.hub.before.run_state = RunState::kSolved;
  fixture.hub.before.result = RunResult();
  fixture.hub.before.result->evaluation.env_steps = 900;
  ModelSnapshot best;
  best.model = "test";
  best.version = {5, 15};
  best.progress.env_steps = 900;
  fixture.best = std::optional<ModelSnapshot>(best);
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.hub.final_version == ModelVersion{5, 20});
  const SavedModel kept = testing::ValueOf(LoadSavedModel(folder.File("best")));
  CHECK(kept.snapshot.version == ModelVersion{5, 15});
  CHECK(kept.snapshot.progress.env_steps == 900);
  CHECK(kept.experiment_yaml == fixture.hub.before.experiment_yaml);

  Fixture away;
  const testing::TemporaryFolder other;
  away.options.output_dir = other.path();
  away.hub.before.run_state = RunState::kSolved;
  away.hub.before.result = RunResult();
  away.best = absl::UnavailableError("the hub is away");
  REQUIRE_OK(away.Run());  // The hub has them.
  CHECK_FALSE(std::filesystem::exists(other.File("best")));
}

TEST_CASE("a learner whose predecessor is silent but alive continues, and its checkpoints count", "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture first;
  first.options.output_dir = folder.path();
  REQUIRE_OK(first.Run());  // Until step 20, in epoch 5.
  auto silent = testing::ValueOf(CheckpointStore::Open(folder.File("checkpoints"), 3));
  CheckpointContents further = *testing::ValueOf(silent->LoadLatest());
  further.step = 1000;
  absl::Status saved = absl::UnknownError("");
  Fixture successor;
  successor.hub.before.epoch = 6;
  successor.options = first.options;
  successor.on_publish = [&](const ModelVersion& version) {
    if (version == ModelVersion{6, 20}) {
      saved = silent->Save(further);  // It has learned further, unnoticed.
      silent.reset();
    }
  };
  REQUIRE_OK(successor.Run());
  REQUIRE_OK(saved);
  CHECK(successor.published.back().version == ModelVersion{6, 40});
  const auto store = testing::ValueOf(CheckpointStore::OpenToRead(folder.File("checkpoints")));
  CHECK(testing::ValueOf(store->LoadLatest())->step == 40);
}

TEST_CASE("a learner without anything left to learn holds its seat until the run is over", "[unit]") {
  Fixture fixture;
  fixture.hub.before.environment.reset();
  fixture.hub.over.RequestStop();
  fixture.hub.run_goes_on = true;
  absl::Status status = absl::UnknownError("");
  {
    const Thread learner("learner", [&] { status = fixture.Run(); });
    testing::Eventually("the learner is done", [&] { return fixture.metrics.TakeSnapshot().activity == "done"; });
    fixture.hub.run_ended.RequestStop();
  }
  REQUIRE_OK(status);
  CHECK(fixture.hub.reported.ok());
}

TEST_CASE("a learner that comes back without a checkpoint continues from the hub's newest weights and their step",
          "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture first;
  first.hub.before.experiment_yaml.replace(first.hub.before.experiment_yaml.find("name: test"), 10,
                                           "name: test, seed: 9");
  REQUIRE_OK(first.Run());
  Fixture back;  // Its own weights would be different.
  back.hub.before.epoch = 6;
  back.newest = first.published.back();
  back.hub.before.model_version = back.newest.version;
  back.options.output_dir = folder.path();
  testing::CapturedStream log(STDERR_FILENO);
  REQUIRE_OK(back.Run());
  CHECK_THAT(log.Finish(), Catch::Contains("These begin as in a new run: the optimizer of q; counters"));
  CHECK(back.published.front().version == ModelVersion{6, 20});
  CHECK(testing::BytesOf(back.published.front().data) == testing::BytesOf(first.published.back().data));
  CHECK(back.published.back().version == ModelVersion{6, 40});
  CHECK(back.metrics.TakeSnapshot().counters.at("learner_steps") == 40);

  // A checkpoint has the whole state, and is preferred to newer weights.
  Fixture restored;
  restored.newest = first.published.back();
  restored.newest.version = {7, 1000};
  restored.hub.before.model_version = restored.newest.version;
  restored.options.output_dir = folder.path();
  REQUIRE_OK(restored.Run());
  CHECK(restored.published.front().version.version == 40);
  Fixture anew;
  REQUIRE_OK(anew.Run());
  CHECK(testing::BytesOf(anew.published.front().data) != testing::BytesOf(first.published.back().data));
}

TEST_CASE("a member of a population obeys each order once, also after a restart", "[unit]") {
  const testing::TemporaryFolder folder;
  const auto run = [&](const std::string& output_dir, const Exploit& exploit, const ModelSnapshot& peer) {
    auto fixture = std::make_unique<Fixture>();
    fixture->hub.before.experiment_yaml =
        "experiment: {name: test, population: {size: 2, every: 9, mutate: {algorithm.optimizer.learning_rate: {}}}}\n"
        "algorithm: {name: apex_dqn}\nlearner: {batch_size: 8}\nstop: {max_env_steps: 1000}\n";
    fixture->hub.before.exploit = exploit;
    fixture->peer = peer;
    fixture->options.output_dir = output_dir;
    REQUIRE_OK(fixture->Run());
    return fixture;
  };
  const auto store_text = [&folder] {
    const auto store = testing::ValueOf(CheckpointStore::OpenToRead(folder.File("checkpoints")));
    return testing::ValueOf(store->LoadLatest())->texts.at(kCheckpointExploit);
  };
  const auto first = run(folder.path(), {}, {});
  CHECK(first->asked_peers.empty());
  CHECK(store_text() == "0");
  ModelSnapshot peer = first->published.back();
  peer.version = {3, 900};
  const auto ordered = run(folder.path(), {"other", 1}, peer);
  CHECK(ordered->asked_peers == std::vector<std::string>{"other test"});
  CHECK(ordered->published.back().version == ModelVersion{5, 40});  // Its own steps go on.
  CHECK(store_text() == "1");
  const auto restarted = run(folder.path(), {"other", 1}, peer);
  CHECK(restarted->asked_peers.empty());
  CHECK(run(folder.path(), {"another", 2}, peer)->asked_peers == std::vector<std::string>{"another test"});
  // Without a checkpoint the published weights follow from the order.
  CHECK(run("", {"other", 1}, peer)->asked_peers.empty());
}

TEST_CASE("a run's first learner begins with another run's weights, and one that continues does not read them",
          "[unit]") {
  const testing::TemporaryFolder source;
  Fixture other;
  other.hub.before.experiment_yaml.replace(0, 25, "experiment: {name: source, seed: 9}\n");
  other.options.output_dir = source.path();
  REQUIRE_OK(other.Run());

  const testing::TemporaryFolder folder;
  Fixture tuned;
  tuned.options.output_dir = folder.path();
  std::string& yaml = tuned.hub.before.experiment_yaml;
  yaml.replace(yaml.find("batch_size: 8"), 13, "batch_size: 8, init: {from: " + source.path() + "}");
  testing::CapturedStream log(STDERR_FILENO);
  REQUIRE_OK(tuned.Run());
  CHECK_THAT(log.Finish(), Catch::Contains(" parameters of " + source.File("checkpoints") +
                                           ". As in a new run: nothing. Not used: nothing"));
  CHECK(tuned.published.front().version == ModelVersion{5, 0});
  CHECK(testing::BytesOf(tuned.published.front().data) == testing::BytesOf(other.published.back().data));

  std::filesystem::remove_all(source.File("checkpoints"));
  Fixture anew;
  anew.hub.before.experiment_yaml = yaml;
  REQUIRE_CODE(anew.Run(), absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(anew.hub.reported.message()), Catch::Contains("learner.init.from: " + source.path()));
  Fixture restored;
  restored.hub.before.experiment_yaml = yaml;
  restored.options.output_dir = folder.path();
  REQUIRE_OK(restored.Run());
  CHECK(restored.published.back().version == ModelVersion{5, 40});
}

TEST_CASE("a hub that loses the last weights before the run is over gets them again", "[unit]") {
  Fixture fixture;
  fixture.hub.run_goes_on = true;  // It never reports any weights.
  int last = 0;
  fixture.on_publish = [&](const ModelVersion& version) {
    last += version.version == 20 ? 1 : 0;
    if (last == 2) {
      fixture.hub.run_ended.RequestStop();
    }
  };
  REQUIRE_OK(fixture.Run());
  CHECK(last == 2);
  CHECK(fixture.metrics.TakeSnapshot().activity == "done");
}

TEST_CASE("a stop while the learner waits for the other processes is no error", "[unit]") {
  Fixture fixture;
  fixture.hub.before.replay_servers.clear();
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.published.empty());
}

TEST_CASE("a learner that the hub refuses ends with the hub's error", "[unit]") {
  Fixture fixture;
  fixture.hub.refusal = absl::FailedPreconditionError("the hub is of another version");
  const absl::Status status = fixture.Run();
  CHECK(status == fixture.hub.refusal);
  CHECK(fixture.hub.reported == absl::OkStatus());
  CHECK(fixture.metrics.TakeSnapshot().counters.at("learner_steps") == 20);
}

TEST_CASE("the reason why a learner cannot begin is reported to the hub", "[unit]") {
  struct Case {
    const char* name;
    std::function<void(Fixture* fixture)> change;
    absl::StatusCode code;
  };
  const Case cases[] = {
      {"an unknown algorithm",
       [](Fixture* fixture) { fixture->hub.before.experiment_yaml = "algorithm: {name: apex}\n"; },
       absl::StatusCode::kInvalidArgument},
      {"another kind of actions",
       [](Fixture* fixture) {
         fixture->hub.before.environment->actions = {Box("action", DType::kFloat32, {1}, -1, 1)};
       },
       absl::StatusCode::kInvalidArgument},
      {"a device that no machine has",
       [](Fixture* fixture) {
         std::string& yaml = fixture->hub.before.experiment_yaml;
         yaml.replace(yaml.find("batch_size: 8"), 13, "device: cuda:99");
       },
       absl::StatusCode::kFailedPrecondition},
      {"four billion parameters",
       [](Fixture* fixture) {
         fixture->hub.before.experiment_yaml += "network: {torso: [{units: [65536, 61000]}]}\n";
         fixture->options.memory_bytes = int64_t{32} << 30;
       },
       absl::StatusCode::kResourceExhausted},
      {"the hub's weights are of another network",
       [](Fixture* fixture) {
         fixture->newest.model = "test";
         fixture->newest.version = {4, 700};
         fixture->hub.before.model_version = fixture->newest.version;
       },
       absl::StatusCode::kFailedPrecondition},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    Fixture fixture;
    one.change(&fixture);
    const absl::Status status = fixture.Run();
    CHECK(status.code() == one.code);
    CHECK(fixture.hub.reported == status);
    CHECK(fixture.published.empty());
  }
}

}  // namespace
}  // namespace waggle
