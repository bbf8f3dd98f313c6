#include "param_server/metrics/recording.h"

#include <fstream>
#include <iterator>
#include <string>

#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/full_disk.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::TemporaryFolder;
using testing::ValueOf;

std::string Csv(const TemporaryFolder& folder) {
  std::ifstream file(folder.File("metrics.csv"));
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

struct RecordedHub {
  RecordedHub() {
    REQUIRE_OK(fixture.state->Adopt("the experiment"));
    fixture.Restart();
    fixture.Join("a", Role::kActor);
  }
  std::unique_ptr<Recording> Record(absl::Duration period) {
    return std::make_unique<Recording>(
        fixture.hub.get(), ValueOf(MetricsRecorder::Create(folder.path(), fixture.hub->Overview())), period);
  }

  testing::HubFixture fixture;
  TemporaryFolder folder;
};

TEST_CASE("A hub's figures are recorded while it runs and at its end", "[unit]") {
  RecordedHub hub;
  auto recording = hub.Record(absl::Milliseconds(1));
  REQUIRE_OK(hub.fixture.Beat("a", 10));
  Eventually("a row with ten steps", [&hub] { return Csv(hub.folder).find("\n10,") != std::string::npos; });
  recording = nullptr;
  recording = hub.Record(absl::InfiniteDuration());
  REQUIRE_OK(hub.fixture.Beat("a", 25));
  recording = nullptr;
  CHECK(Csv(hub.folder).find("\n25,") != std::string::npos);
}

TEST_CASE("The hub shows why figures are not recorded", "[unit]") {
  RecordedHub hub;
  auto recording = hub.Record(absl::Milliseconds(1));
  REQUIRE_OK(hub.fixture.Beat("a", 10));
  const auto why = [&hub] { return hub.fixture.hub->Overview().figures_unrecorded; };
  {
    const testing::FullDisk full(0);
    Eventually("the reason", [&why] { return why().find("metrics.csv") != std::string::npos; });
  }
  Eventually("no reason", [&why] { return why().empty(); });
  recording = nullptr;
}

TEST_CASE("In lock-step figures are recorded in the hub's turn, without its own counters", "[unit]") {
  RecordedHub hub;
  hub.fixture.lock_step = LockStepOptions{/*record_steps=*/1, /*evaluation_steps=*/0};
  hub.fixture.metrics.Add("models_pulled", 3);
  hub.fixture.Restart();
  hub.fixture.Join("a", Role::kActor);
  hub.fixture.Join("l", Role::kLearner);
  hub.fixture.Join("r", Role::kReplayServer, "replay:1");
  auto recording = hub.Record(absl::Milliseconds(1));
  REQUIRE_OK(hub.fixture.Beat("a", 10));
  const auto end_turn = [&hub](const std::string& worker_id, uint64_t number) {
    WorkerReport report = hub.fixture.Report(worker_id, worker_id == "a" ? 10 : 0);
    report.figures.counters["learner_steps"] = 1;
    report.turn_done = number;
    REQUIRE_OK(hub.fixture.hub->Heartbeat(report).status());
  };
  end_turn("l", 1);
  CHECK(hub.fixture.hub->turn()->role == Role::kReplayServer);
  CHECK(Csv(hub.folder).find("\n10,") == std::string::npos);
  end_turn("r", 2);
  Eventually("the actor's turn", [&hub] { return hub.fixture.hub->turn()->role == Role::kActor; });
  const std::string recorded = Csv(hub.folder);
  CHECK(recorded.find("\n10,") != std::string::npos);
  CHECK(recorded.find("learner/steps,1\n") != std::string::npos);
  CHECK(recorded.find("hub/") == std::string::npos);
  REQUIRE_OK(hub.fixture.Beat("a", 25));
  recording = nullptr;
  CHECK(Csv(hub.folder) == recorded);
}

}  // namespace
}  // namespace waggle
