#include "tests/e2e/run_again.h"

#include <signal.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/rl/checkpoint/saved_model.h"
#include "tests/support/catch.h"

namespace waggle::testing {

void KillAll(TrainingRun* run) {
  KillAll(*run, run->process());
}

void KillAll(const TrainingRun& run, RunningProcess* process) {
  const std::vector<pid_t> processes = run.Processes();
  process->Signal(SIGKILL);
  process->Wait();
  for (const pid_t pid : processes) {
    kill(pid, SIGKILL);
  }
  Eventually("the end of all processes", [&] { return run.Processes().empty(); });
}

Resumption::Resumption(const TrainingRun& run, const std::vector<std::string>& more) {
  std::vector<std::string> command = {"waggle", "run", "--resume", run.File(""), "--no-plot"};
  command.insert(command.end(), more.begin(), more.end());
  process_ = std::make_unique<RunningProcess>(folder_, "log", std::move(command));
}

std::vector<std::string> TimelessFigures(const std::string& csv) {
  std::vector<std::string> rows;
  // The third of its four columns is the figure's name.
  for (const absl::string_view line : absl::StrSplit(csv, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> columns = absl::StrSplit(line, ',');
    REQUIRE(columns.size() == 4);
    if (!absl::EndsWith(columns[2], "_per_s") && !absl::EndsWith(columns[2], "waiting_fraction") &&
        !absl::EndsWith(columns[2], "environment_fraction")) {
      rows.push_back(absl::StrCat(columns[0], ",", columns[2], ",", columns[3]));
    }
  }
  return rows;
}

std::string BestWeights(const TrainingRun& run) {
  const absl::StatusOr<SavedModel> model = LoadSavedModel(run.File("best"));
  const ByteSlices data = ValueOf(model).snapshot.data;
  std::string bytes(data.size(), '\0');
  data.CopyTo(bytes.data());
  return bytes;
}

}  // namespace waggle::testing
