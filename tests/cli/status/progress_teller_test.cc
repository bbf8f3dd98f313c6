#include "cli/status/progress_teller.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/rl/algorithms/definitions.h"
#include "tests/cli/file_contents.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::SampleSnapshot;

// The output for these snapshots.
std::string Told(const std::vector<ClusterSnapshot>& snapshots) {
  const testing::TemporaryFolder folder;
  const int file = open(folder.File("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  ProgressPrinter printer(file, /*terminal=*/false, /*color=*/false);
  ProgressTeller teller(&printer);
  for (const ClusterSnapshot& snapshot : snapshots) {
    teller.Tell(snapshot, std::nullopt, {});
  }
  close(file);
  return testing::Contents(folder.File("out"));
}

// Adds an evaluation with a mean return of 500.
void AddEvaluation(int64_t finished_at_us, ClusterSnapshot* snapshot) {
  v1::Evaluation* const evaluation = snapshot->overview.add_evaluations();
  evaluation->set_mean_return(500);
  evaluation->set_finished_at_us(finished_at_us);
}

TEST_CASE("New events are printed once", "[unit]") {
  ClusterSnapshot first = SampleSnapshot();
  ClusterSnapshot second = first;
  second.overview.set_figures_unrecorded("full");
  AddEvaluation(1'000'009'000'000, &second);
  const std::string told = Told({first, first, second, second, first});
  for (const char* const once : {"evaluation: mean return 412.5", "evaluation: mean return 500.0",
                                 "figures are not recorded: full", "figures are recorded again"}) {
    INFO(told);
    CHECK(told.find(once) != std::string::npos);
    CHECK(told.find(once) == told.rfind(once));
  }
}

TEST_CASE("Only the newest evaluation before the first snapshot is printed", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  AddEvaluation(1'000'009'000'000, &snapshot);
  const std::string told = Told({snapshot});
  CHECK(told.find("mean return 412.5") == std::string::npos);
  CHECK(told.find("mean return 500.0") != std::string::npos);
}

TEST_CASE("An evaluation is printed even if its evaluator's clock is behind the last one's", "[unit]") {
  ClusterSnapshot second = SampleSnapshot();
  AddEvaluation(second.overview.evaluations(0).finished_at_us() - 1, &second);
  CHECK_THAT(Told({SampleSnapshot(), second}), Catch::Contains("evaluation: mean return 500.0"));
}

TEST_CASE("An ended experiment has no momentary figures", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.info.set_ended_at_us(1'000'100'000'000);
  CHECK(Told({SampleSnapshot()}).find("198k env steps") != std::string::npos);
  CHECK(Told({snapshot}).find("198k env steps") == std::string::npos);
}

TEST_CASE("The reason of a waiting experiment is printed when it changes", "[unit]") {
  ClusterSnapshot waiting;
  waiting.overview.set_run_state(v1::RUN_STATE_QUEUED);
  ClusterSnapshot why = waiting;
  why.info.set_reason("it waits for 2 actors");
  CHECK(Told({waiting, waiting, why, why}) == "queued\nqueued: it waits for 2 actors\n");
}

TEST_CASE("A run that will push gradients is shown as such before an actor has come", "[unit]") {
  ProgressPrinter printer(-1, /*terminal=*/false, /*color=*/false);
  ClusterSnapshot snapshot;
  snapshot.overview.set_run_state(v1::RUN_STATE_RUNNING);
  const Experiment pushing = testing::ValueOf(
      ParseExperiment("algorithm: {name: a3c}\nstop: {max_seconds: 60}\n", "x", {}, BuiltinAlgorithmDefinitions()));
  CHECK(ProgressTeller(&printer).Tell(snapshot, pushing, {}).gradients.has_value());
  CHECK_FALSE(ProgressTeller(&printer).Tell(snapshot, std::nullopt, {}).gradients.has_value());
}

}  // namespace
}  // namespace waggle
