#include "learner/learner_process.h"

#include <cstring>

#include "common/checkpoint/checkpoint_store.h"
#include "common/experiment/experiment.h"
#include "common/rl/algorithms/builtin.h"
#include "tests/learner/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

// Says one assignment, and that the run is over once the learner reports to be done.
class FakeHub : public HubLink {
 public:
  Assignment assignment() const override { return said; }
  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken& stop) override {
    if (!condition(said)) {
      stop.RequestStop();
      return absl::CancelledError("stopped");
    }
    return said;
  }
  void ReportEnvironment(const EnvironmentSpec&) override {}
  void ReportEvaluation(const Evaluation&) override {}
  void ReportFailure(const absl::Status& status) override { failure = status; }
  const StopToken& run_over() const override { return over; }
  void Leave(absl::Duration) override {}

  Assignment said;
  absl::Status failure;
  StopToken over;
};

// Endless batches of windows of zeros of whatever table is asked for.
class ZeroSampler : public ReplaySampler {
 public:
  ZeroSampler(const ReplaySamplerOptions& options, int64_t batches, StopToken over)
      : layout_(std::make_shared<BatchLayout>(
            testing::ValueOf(MakeBatchLayout(options.table, options.batch_size, 1 << 20)))),
        left_(batches),
        over_(std::move(over)) {}

  absl::StatusOr<SampledBatch> Next(const StopToken&) override {
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
  const StopToken over_;
};

class FakeReplay : public ReplayConnection {
 public:
  explicit FakeReplay(StopToken over) : over_(std::move(over)) {}

  absl::Status CreateTable(const TableConfig& config, const StopToken&) override { return config.Validate(); }
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions&) override {
    return absl::FailedPreconditionError("a learner does not write");
  }
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override {
    return std::unique_ptr<ReplaySampler>(std::make_unique<ZeroSampler>(options, 20, over_));
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string&) override {
    return std::unique_ptr<PriorityUpdater>(std::make_unique<testing::RecordingUpdater>());
  }

 private:
  const StopToken over_;
};

struct Fixture {
  Fixture() {
    hub.said.experiment_yaml =
        "experiment: {name: test}\nalgorithm: {name: apex_dqn}\nlearner: {batch_size: 8}\n"
        "stop: {max_env_steps: 1000}\n";
    hub.said.environment = testing::DqnEnvironment(4, 2);
    hub.said.replay_servers = {"localhost:1"};
    hub.said.epoch = 5;
  }

  absl::Status Run() {
    LearnerConnections connections;
    connections.hub = &hub;
    connections.metrics = &metrics;
    connections.connect_replay =
        [&](const std::vector<std::string>& addresses) -> absl::StatusOr<std::unique_ptr<ReplayConnection>> {
      connected_to = addresses;
      return std::unique_ptr<ReplayConnection>(std::make_unique<FakeReplay>(hub.over));
    };
    connections.new_publisher = [&] {
      auto publisher = std::make_unique<testing::ScriptedPublisher>([&](size_t) {
        MutexLock lock(&mutex);
        ++publications;
        return absl::OkStatus();
      });
      return publisher;
    };
    connections.definitions = &definitions;
    connections.algorithms = &algorithms;
    return RunLearner(options, connections);
  }

  FakeHub hub;
  Metrics metrics;
  LearnerProcessOptions options;
  std::vector<std::string> connected_to;
  Mutex mutex;
  int publications = 0;
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
};

TEST_CASE("a learner does what the hub says until the run is over, and leaves a checkpoint", "[unit]") {
  const testing::TemporaryFolder folder;
  Fixture fixture;
  fixture.options.output_dir = folder.path();
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.connected_to == std::vector<std::string>{"localhost:1"});
  CHECK(fixture.publications >= 2);
  CHECK(fixture.metrics.TakeSnapshot().counters.at("learner_steps") == 20);
  CHECK(fixture.hub.failure == absl::OkStatus());

  Fixture restored;
  restored.options.restore_dir = folder.File("checkpoints");
  restored.options.output_dir = folder.path();
  REQUIRE_OK(restored.Run());
  const auto store = testing::ValueOf(CheckpointStore::Open(folder.File("checkpoints"), 3));
  CHECK(testing::ValueOf(store->LoadLatest())->step == 40);
}

TEST_CASE("a stop while the learner waits for the others is no error", "[unit]") {
  Fixture fixture;
  fixture.hub.said.replay_servers.clear();
  REQUIRE_OK(fixture.Run());
  CHECK(fixture.publications == 0);
}

TEST_CASE("why a learner cannot begin is reported to the hub", "[unit]") {
  const auto failure = [](Fixture* fixture) {
    const absl::Status status = fixture->Run();
    CHECK_FALSE(status.ok());
    CHECK(fixture->hub.failure == status);
    return std::string(status.message());
  };
  Fixture experiment;
  experiment.hub.said.experiment_yaml = "algorithm: {name: apex}\n";
  CHECK(failure(&experiment).find("apex") != std::string::npos);
  Fixture environment;
  environment.hub.said.environment->action = ActionSpec();
  environment.hub.said.environment->action.kind = ActionSpec::Kind::kContinuous;
  environment.hub.said.environment->action.low = {-1};
  environment.hub.said.environment->action.high = {1};
  CHECK_FALSE(failure(&environment).empty());
  Fixture device;
  device.hub.said.experiment_yaml += "# on a device that no machine has\n";
  device.hub.said.experiment_yaml.replace(device.hub.said.experiment_yaml.find("batch_size: 8"), 13, "device: cuda:99");
  CHECK(failure(&device).find("cuda:99") != std::string::npos);
  Fixture restore;
  restore.options.restore_dir = "/nonexistent";
  CHECK(failure(&restore) == "restoring the learner: there is no folder /nonexistent");
  const testing::TemporaryFolder empty;
  Fixture nothing;
  nothing.options.restore_dir = empty.path();
  CHECK(failure(&nothing) == "restoring the learner: no checkpoint in " + empty.path());
}

}  // namespace
}  // namespace waggle
