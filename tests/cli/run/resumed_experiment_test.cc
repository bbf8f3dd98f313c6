#include "cli/run/resumed_experiment.h"

#include <fstream>
#include <string>

#include "cli/check/checked_experiment.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

// A run's folder with its experiment, and the file that it was made from.
class Run {
 public:
  Run() {
    std::ofstream(folder.File("x.yaml")) << "experiment: {name: x}\nalgorithm: {name: apex_dqn}\n"
                                            "stop: {max_env_steps: 1000}\n";
    std::ofstream(folder.File("experiment.yaml")) << ToYaml(ValueOf(LoadCheckedExperiment(file(), {})).experiment);
  }
  std::string file() const { return folder.File("x.yaml"); }
  absl::StatusOr<ResumedExperiment> Load(const std::string& from,
                                         const std::vector<std::pair<std::string, std::string>>& overrides = {}) const {
    return LoadResumedExperiment(folder.path(), from, overrides);
  }

  const TemporaryFolder folder;
};

using Limits = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("A run goes on with its own experiment, also if its file is given again", "[unit]") {
  const Run run;
  for (const std::string& file : {std::string(), run.file()}) {
    const ResumedExperiment resumed = ValueOf(run.Load(file));
    CHECK(resumed.checked.experiment.experiment.name == "x");
    CHECK(resumed.limits.empty());
  }
}

TEST_CASE("Keys of the section stop that differ are later limits", "[unit]") {
  const Run run;
  const ResumedExperiment resumed = ValueOf(run.Load("", {{"stop.max_env_steps", "2e3"}, {"stop.max_seconds", "60"}}));
  CHECK(resumed.limits == Limits{{"stop.max_env_steps", "2000"}, {"stop.max_seconds", "60"}});
  CHECK(resumed.checked.experiment.stop.max_env_steps == 2000);
  CHECK(ValueOf(run.Load(run.file(), {{"stop.target_return", "475"}})).limits.front().first == "stop.target_return");
}

TEST_CASE("Another experiment is refused by the first key that differs", "[unit]") {
  const Run run;
  const absl::Status refused = run.Load("", {{"learner.batch_size", "128"}}).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::StartsWith("learner.batch_size: got 128; wanted 64"));
  CHECK(absl::IsInvalidArgument(run.Load(run.file(), {{"experiment.seed", "9"}}).status()));
}

TEST_CASE("A run that has come to its end goes on only with a later limit", "[unit]") {
  const Run run;
  std::ofstream(run.folder.File("summary.json")) << R"({"outcome": "limit"})";
  CHECK(absl::IsFailedPrecondition(run.Load("").status()));
  CHECK(run.Load("", {{"stop.max_env_steps", "2000"}}).ok());
  for (const char* const outcome : {"interrupted", "failed", "stopped"}) {
    std::ofstream(run.folder.File("summary.json")) << R"({"outcome": ")" << outcome << "\"}";
    CHECK(run.Load("").ok());
  }
}

TEST_CASE("A folder without an experiment is refused", "[unit]") {
  const TemporaryFolder empty;
  CHECK_FALSE(LoadResumedExperiment(empty.path(), "", {}).ok());
}

}  // namespace
}  // namespace waggle
