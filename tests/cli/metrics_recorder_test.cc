#include "cli/metrics_recorder.h"

#include <filesystem>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::SampleSnapshot;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("Figures go to both files, an evaluation once", "[unit]") {
  const TemporaryFolder folder;
  const auto recorder = ValueOf(MetricsRecorder::Create(folder.path()));
  const RunFacts facts = GatherFacts(SampleSnapshot());
  REQUIRE_OK(recorder->Record(facts, absl::Seconds(1), absl::FromUnixSeconds(1'000'001)));
  REQUIRE_OK(recorder->Record(facts, absl::Seconds(2), absl::FromUnixSeconds(1'000'002)));
  const std::string csv = Contents(folder.File("metrics.csv"));
  CHECK(Count(csv, "198432,") == Count(csv, "\n") - 1);
  CHECK(Count(csv, "learner/loss") == 2);
  CHECK(Count(csv, "evaluation/mean_return") == 1);
  std::string events;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    if (file.path().filename().string().find("tfevents") != std::string::npos) {
      events = Contents(file.path().string());
    }
  }
  CHECK(Count(events, "learner/loss") == 2);
  CHECK(Count(events, "evaluation/mean_return") == 1);
}

TEST_CASE("Evaluations that finished between two records are all written, each at its time", "[unit]") {
  const TemporaryFolder folder;
  const auto recorder = ValueOf(MetricsRecorder::Create(folder.path()));
  RunFacts facts = GatherFacts(SampleSnapshot());
  facts.evaluations.push_back(facts.evaluations.back());
  facts.evaluations.back().set_mean_return(480.5);
  facts.evaluations.back().set_finished_at_us(1'000'009'500'000);
  REQUIRE_OK(recorder->Record(facts, absl::Seconds(10), absl::FromUnixSeconds(1'000'010)));
  const std::string csv = Contents(folder.File("metrics.csv"));
  CHECK(Count(csv, "198432,8.000,evaluation/mean_return,412.5\n") == 1);
  CHECK(Count(csv, "198432,9.500,evaluation/mean_return,480.5\n") == 1);
}

TEST_CASE("What has no value yet is not written", "[unit]") {
  const TemporaryFolder folder;
  const auto recorder = ValueOf(MetricsRecorder::Create(folder.path()));
  REQUIRE_OK(recorder->Record(RunFacts(), absl::Seconds(1), absl::FromUnixSeconds(1)));
  const std::string csv = Contents(folder.File("metrics.csv"));
  CHECK(Count(csv, "actor/return_mean") == 0);
  CHECK(Count(csv, "replay/items") > 0);
}

TEST_CASE("A folder that cannot be written is an error", "[unit]") {
  CHECK_FALSE(MetricsRecorder::Create("/no/such/folder").ok());
}

}  // namespace
}  // namespace waggle
