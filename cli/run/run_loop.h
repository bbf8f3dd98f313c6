#pragma once

#include <signal.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/run/cluster_watch.h"
#include "cli/run/last_look.h"
#include "cli/run/output_folder.h"
#include "cli/run/run_end.h"
#include "cli/run/supervision.h"
#include "cli/status/progress_teller.h"
#include "cli/status/progress_view.h"
#include "common/base/process/child_process.h"
#include "common/base/steady_now.h"
#include "common/config/experiment/experiment.h"
#include "common/hub/summary/run_summary.h"

namespace waggle {

// One run of `waggle run`, from its first process to its last. Main thread only.
class RunLoop {
 public:
  // `yaml` is the experiment as the user wrote it. If `resumed_limits` has a value, the run of the folder goes on, with
  // these later limits, {"stop.max_env_steps", "100000"}.
  using Limits = std::vector<std::pair<std::string, std::string>>;
  RunLoop(Experiment experiment, std::string yaml, OutputFolder folder, std::string binary_folder,
          absl::Time started_at, bool plot, std::optional<Limits> resumed_limits = std::nullopt);
  ~RunLoop();
  RunLoop(const RunLoop&) = delete;
  RunLoop& operator=(const RunLoop&) = delete;

  // `signals` must be blocked already.
  absl::Status Open(const sigset_t& signals);
  // Returns the exit status when every process has ended.
  int Run();

 private:
  void Wait();
  void HandleSignals();
  // Waits for `duration`, or for a signal. True if a signal that ends the run came.
  bool WaitForSignal(absl::Duration duration);
  void HandleHubFiles();
  // Gives the experiment to the hub, which has it already if the run goes on.
  void Submit();
  absl::StatusOr<std::string> SubmitNew() const;
  void HandleSnapshot();
  void ReapChildren();
  void Do(const Supervision::Actions& actions);
  // Shows the end of a process's log.
  void ShowLog(const std::string& name);
  void StartProcess(size_t process);
  void Announce();
  int Finish();
  RunEnd Judge(const std::optional<v1::Result>& result);
  // True if `folder` has the weights of this result.
  bool Holds(const std::string& folder, const v1::Result& result) const;
  absl::Duration Elapsed() const { return SteadyNow() - started_at_; }
  ProgressContext Context() const;

  const Experiment experiment_;
  const std::string yaml_;
  const OutputFolder folder_;
  const std::string binary_folder_;
  const absl::Time started_at_;  // By SteadyNow(), as all times here: setting the clock must not end a run.
  const bool plot_;
  const std::optional<Limits> resumed_limits_;
  bool not_resumed_ = false;  // The hub has refused to let the run go on.
  int signals_ = -1;          // A signalfd.
  int hub_files_ = -1;        // An inotify on the hub's folder.
  Supervision supervision_;
  // By the supervision's index; null if the process does not run.
  std::vector<std::unique_ptr<ChildProcess>> children_;
  std::vector<ProcessSummary> ended_;
  std::string hub_address_;
  std::string id_;                       // The experiment's id, once the hub has it.
  std::unique_ptr<ClusterWatch> watch_;  // Exists once the hub has the experiment.
  ProgressPrinter printer_;
  ProgressTeller teller_;
  v1::OverviewResponse overview_;  // The newest; empty before the first.
  LastLook last_look_;
  absl::Time submitted_at_;
  absl::Time last_answer_;
  bool said_unanswered_ = false;
  bool announced_ = false;
  std::optional<bool> hub_kept_weights_;  // The hub's last report.
};

}  // namespace waggle
