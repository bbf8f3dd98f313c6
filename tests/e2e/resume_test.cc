// Runs of `waggle run` that go on in their folders.

#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "param_server/run/hub_state.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/run_again.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// The progress that the hub of a run has saved.
RunProgress Saved(const TrainingRun& run) {
  for (const auto& experiment : std::filesystem::directory_iterator(run.File("hub/experiments"))) {
    const auto text = ReadSmallFile(experiment.path().string() + "/hub/hub.state", 1 << 20);
    if (text.ok()) {
      return ValueOf(DecodeHubRecord(*text)).progress;
    }
  }
  return {};
}

TEST_CASE("a run all of whose processes were killed goes on and is solved", "[e2e]") {
  TrainingRun run;
  Eventually("steps that the hub has saved, and a checkpoint", [&] {
    return std::filesystem::exists(run.File("hub/experiments")) && Saved(run).env_steps > 2'000 &&
           std::filesystem::exists(run.File("checkpoints"));
  });
  // The folder is in use.
  Resumption too_early(run);
  CHECK(too_early.Wait() == 2);
  KillAll(&run);
  const RunProgress before = Saved(run);
  const std::string figures = Contents(run.File("metrics.csv"));

  Resumption resumed(run);
  const int64_t status = resumed.Wait();
  INFO(resumed.Log());
  REQUIRE(status == 0);
  const nlohmann::json summary = run.Summary();
  CHECK(summary.at("outcome") == "solved");
  CHECK(summary.at("env_steps").get<double>() > static_cast<double>(before.env_steps));
  CHECK(summary.at("learner_steps").get<double>() > static_cast<double>(before.learner_steps));
  CHECK(summary.at("wall_seconds").get<double>() >
        absl::ToDoubleSeconds(before.running.value_or(absl::ZeroDuration())));
  // The figures go on in the same file.
  const std::string all = Contents(run.File("metrics.csv"));
  const size_t whole = figures.rfind('\n') + 1;
  CHECK(all.size() > whole);
  CHECK(all.substr(0, whole) == figures.substr(0, whole));
  CHECK(run.Processes().empty());

  // It has come to its end.
  Resumption again(run);
  CHECK(again.Wait() == 2);
  CHECK(run.Summary() == summary);
}

TEST_CASE("an interrupted run goes on to a later limit, but not with another experiment or in another place", "[e2e]") {
  TrainingRun run({"--set", "stop.target_return=null", "--set", "stop.max_env_steps=20000"});
  run.WaitForEnvSteps(2'000);
  run.process()->Signal(SIGINT);
  CHECK(run.Wait().ShellStatus() == 130);
  const nlohmann::json interrupted = run.Summary();
  CHECK(interrupted.at("outcome") == "interrupted");

  Resumption another(run, {"--set", "learner.batch_size=77"});
  CHECK(another.Wait() == 2);
  CHECK_THAT(another.Log(), Catch::Contains("learner.batch_size: got 77"));
  const std::string moved = std::filesystem::path(run.File("../moved")).lexically_normal().string();
  std::filesystem::rename(run.File(""), moved);
  const TemporaryFolder folder;
  RunningProcess elsewhere(folder, "log", {"waggle", "run", "--resume", moved});
  CHECK(elsewhere.Wait().ShellStatus() == 2);
  CHECK_FALSE(std::filesystem::exists(run.File("")));
  CHECK_THAT(elsewhere.Log(), Catch::Contains(", where the run was made"));
  std::filesystem::rename(moved, run.File(""));
  CHECK(run.Summary() == interrupted);

  Resumption resumed(run, {"--max-env-steps", "24000"});
  const int64_t status = resumed.Wait();
  INFO(resumed.Log());
  REQUIRE(status == 0);
  CHECK(run.Summary().at("outcome") == "limit");
  CHECK(run.Summary().at("env_steps").get<double>() >= 24'000);
}

TEST_CASE("a run that has reached its limit goes on to a later one", "[e2e]") {
  TrainingRun run({"--set", "stop.target_return=null", "--set", "stop.max_env_steps=4000"});
  run.WaitForSuccess("limit");
  Resumption resumed(run, {"--max-env-steps", "8000"});
  const int64_t status = resumed.Wait();
  INFO(resumed.Log());
  REQUIRE(status == 0);
  CHECK(run.Summary().at("outcome") == "limit");
  CHECK(run.Summary().at("env_steps").get<double>() >= 8'000);
}

}  // namespace
}  // namespace waggle::testing
