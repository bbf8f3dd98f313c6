#include "param_server/metrics/recording.h"

#include <fstream>
#include <iterator>
#include <string>

#include "tests/param_server/workers/hub_fixture.h"
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
    REQUIRE_OK(AdoptExperiment("the experiment", fixture.now, fixture.state.get()));
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

TEST_CASE("A hub's figures are recorded while it runs, and for a last time at its end", "[unit]") {
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

TEST_CASE("The hub says why figures are not recorded, until they are again", "[unit]") {
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

}  // namespace
}  // namespace waggle
