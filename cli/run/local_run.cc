#include "cli/run/local_run.h"

#include <signal.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/check/checked_experiment.h"
#include "cli/run/local_processes.h"
#include "cli/run/output_folder.h"
#include "cli/run/resumed_experiment.h"
#include "cli/run/run_loop.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/config/experiment/memory_estimate.h"
#include "common/hub/ports/hub.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

int ComplainAndExit(const absl::Status& status, int exit_status) {
  std::cerr << "waggle run: " << status.message() << std::endl;
  return exit_status;
}

// The experiment of a new run, or of one that goes on, with its later limits.
struct Wanted {
  CheckedExperiment checked;
  std::optional<RunLoop::Limits> resumed_limits;
};

absl::StatusOr<Wanted> Load(const RunFlags& flags) {
  Wanted wanted;
  if (flags.resume.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(wanted.checked, LoadCheckedExperiment(flags.file, flags.overrides));
    return wanted;
  }
  WAGGLE_ASSIGN_OR_RETURN(ResumedExperiment resumed, LoadResumedExperiment(flags.resume, flags.file, flags.overrides));
  wanted.checked = std::move(resumed.checked);
  wanted.resumed_limits = std::move(resumed.limits);
  return wanted;
}

// A run whose processes were all killed has no summary. What each of them had saved is of another moment, so the run
// goes back to its newest cut, if it has one.
absl::Status ReturnToCutIfKilled(const OutputFolder& folder) {
  std::error_code error;
  return std::filesystem::exists(folder.File("summary.json"), error)
             ? absl::OkStatus()
             : folder.Write(absl::StrCat("hub/", kReturnToCuts), "");
}

}  // namespace

int RunLocally(const RunFlags& flags, const std::string& binary_folder) {
  const absl::Time started_at = SteadyNow();
  // Before the first thread starts, so that all threads inherit it.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
    sigaddset(&signals, signal);
  }
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  // A folder that is in use is reported first: its experiment may be changing.
  absl::StatusOr<OutputFolder> folder = absl::UnknownError("not opened");
  if (!flags.resume.empty()) {
    folder = OutputFolder::Take(flags.resume);
    if (!folder.ok()) {
      return ComplainAndExit(folder.status(), 2);
    }
  }
  absl::StatusOr<Wanted> wanted = Load(flags);
  if (!wanted.ok()) {
    return ComplainAndExit(wanted.status(), 2);
  }
  CheckedExperiment* const checked = &wanted->checked;
  if (const PopulationOptions& population = checked->experiment.experiment.population; population.is_given()) {
    return ComplainAndExit(absl::InvalidArgumentError(absl::StrCat(
                               "experiment.population: got ", population.size,
                               " experiments; wanted none, as `waggle run` runs one: give a population to a hub, by "
                               "`waggle submit ",
                               flags.file, "`")),
                           2);
  }
  const absl::StatusOr<std::vector<ProcessMemory>> memory =
      EstimateMemory(checked->experiment, *checked->environment, BuiltinAlgorithmDefinitions());
  const absl::Status fits = memory.ok() ? CheckMemory(*memory, MachineMemoryBytes()) : memory.status();
  if (!fits.ok()) {
    return ComplainAndExit(fits, 1);
  }
  const absl::Status executables = CheckExecutables(checked->experiment, binary_folder);
  if (!executables.ok()) {
    return ComplainAndExit(executables, 1);
  }
  if (flags.resume.empty()) {
    folder = OutputFolder::Create(flags.output_dir, checked->experiment.experiment.name, absl::Now());
    if (!folder.ok()) {
      return ComplainAndExit(folder.status(), 1);
    }
  } else if (const absl::Status asked = ReturnToCutIfKilled(*folder); !asked.ok()) {
    return ComplainAndExit(asked, 1);
  }
  RunLoop run(std::move(checked->experiment), std::move(checked->text), *std::move(folder), binary_folder, started_at,
              flags.plot, std::move(wanted->resumed_limits));
  const absl::Status opened = run.Open(signals);
  return opened.ok() ? run.Run() : ComplainAndExit(opened, 1);
}

}  // namespace waggle
