// A run whose actors push gradients, while its processes are killed.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// The step of the newest complete checkpoint; -1: there is none.
int64_t CheckpointedStep(const TrainingRun& run) {
  int64_t newest = -1;
  const std::string folder = run.File("checkpoints");
  if (!std::filesystem::exists(folder)) {
    return newest;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    int64_t step = 0;
    if (absl::StartsWith(name, "step-") && absl::SimpleAtoi(name.substr(5), &step)) {
      newest = std::max(newest, step);
    }
  }
  return newest;
}

// The latest step from which a primary continued; -1: none has yet. Any gradient worker may be the primary.
int64_t StepGoneOnFrom(const TrainingRun& run) {
  int64_t latest = -1;
  for (const char* const worker : {"0", "1", "2"}) {
    const std::string log = Contents(run.File(absl::StrCat("logs/gradient-", worker, ".log")));
    const std::string words = "goes on from step ";
    if (const size_t found = log.rfind(words); found != std::string::npos) {
      latest = std::max<int64_t>(latest, std::stoll(log.substr(found + words.size())));
    }
  }
  return latest;
}

void CheckCounts(const nlohmann::json& gradients, int64_t learner_steps, int64_t lives) {
  INFO(gradients.dump());
  const auto count = [&gradients](const char* name) { return gradients.at(name).get<int64_t>(); };
  CHECK(count("pushed") > 0);
  CHECK(count("pushed") == count("applied") + count("refused") + count("unanswered"));
  CHECK(count("unanswered") >= 0);
  CHECK(count("unanswered") <= 4 * lives);  // max_unacknowledged for each life.
  // Nothing impossible was sent: gradients are refused only once the run is over, if at all.
  for (const auto& [reason, refused] : gradients.at("refused_by_reason").items()) {
    CHECK(reason == "training_over");
    CHECK(refused.get<int64_t>() == count("refused"));
  }
  // A step takes one gradient here. Gradients that killed actors had not reported yet count only as steps.
  CHECK(learner_steps >= count("applied") - count("rolled_back"));
}

TEST_CASE("a run that pushes gradients ends at its limit though an actor, a reducer and the primary are killed",
          "[e2e]") {
  TrainingRun run({"--seed", "3", "--set", "stop.target_return=null", "--set", "stop.max_env_steps=250000", "--set",
                   "learner.checkpoint.period_seconds=0.2"},
                  false, "cartpole_a3c");
  run.WaitForEnvSteps(1);
  run.Kill("actor");
  run.Kill("reducer");
  // The killed actor's gradients are in the checkpoint: no primary hears of them again.
  const auto steps = run.Status().at("learner_steps").get<int64_t>();
  Eventually("a checkpoint of a later step", [&] { return CheckpointedStep(run) > steps; });
  const int64_t checkpointed = CheckpointedStep(run);
  run.Kill("learner");  // The hub's name for the primary.
  Eventually("the primary to go on", [&run] { return StepGoneOnFrom(run) >= 0; });
  CHECK(StepGoneOnFrom(run) >= checkpointed);
  const nlohmann::json status = run.Status();
  REQUIRE_FALSE(status.is_null());
  CHECK(status.at("outcome") == "running");  // Otherwise nothing was killed during the run.
  CHECK(status.at("gradients").at("pushed").get<int64_t>() > 0);
  CHECK(status.at("learner_steps").get<int64_t>() >= checkpointed);

  const nlohmann::json summary = run.WaitForSuccess();
  CHECK(summary.at("env_steps").get<int64_t>() >= 250'000);
  CHECK(summary.at("env_steps").get<int64_t>() <= 250'000 + 3 * 8 * 8);  // An unroll of each actor's lanes.
  CHECK(summary.at("learner_steps").get<int64_t>() > StepGoneOnFrom(run));
  CHECK(run.KilledRoles() == std::set<std::string>{"actor", "gradient-worker"});
  CHECK_FALSE(absl::StrContains(run.process()->Log(), "items "));  // It has no tables.
  CheckCounts(summary.at("gradients"), summary.at("learner_steps").get<int64_t>(), 3 + 1);
}

TEST_CASE("without a lost process every step of a run that pushes gradients is an applied gradient", "[e2e]") {
  TrainingRun run({"--set", "stop.target_return=null", "--set", "stop.max_env_steps=30000"}, false, "cartpole_a3c");
  const nlohmann::json summary = run.WaitForSuccess();
  const auto steps = summary.at("learner_steps").get<int64_t>();
  CheckCounts(summary.at("gradients"), steps, 3);
  CHECK(summary.at("gradients").at("rolled_back") == 0);
  CHECK(steps <=
        summary.at("gradients").at("applied").get<int64_t>() + summary.at("gradients").at("unanswered").get<int64_t>());
}

}  // namespace
}  // namespace waggle::testing
