#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/metrics/prometheus_text.h"
#include "common/base/threads/thread.h"
#include "common/config/experiment/live_settings.h"
#include "common/config/experiment/settings_text.h"
#include "param_server/experiments/experiment_store.h"
#include "param_server/experiments/experiment_view.h"
#include "param_server/experiments/host_state.h"
#include "param_server/pool/worker_pool.h"
#include "param_server/results/result_files.h"
#include "param_server/run/listeners.h"
#include "param_server/services/run_services.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

// The experiments of a hub, from their submission to their end, and the processes that work for them. Thread-safe.
//
// A thread decides which experiments begin and which are closed, and replies to the pool. It never waits for a disk. An
// executor opens and closes runs. Queued experiments begin as soon as there are workers for them, in the order of
// priority, then of submission. An experiment that waits for busy workers blocks those behind it; one that needs more
// workers than there are does not. If a run cannot be opened, as a disk is full or missing, it is tried again.
class ExperimentHost {
 public:
  // Reads the saved experiments. Those that ran go on. An error names the file that cannot be read or written.
  static absl::StatusOr<std::unique_ptr<ExperimentHost>> Open(const ExperimentHostOptions& options);
  // Saves all changes. Runs go on when the next hub opens the folder.
  ~ExperimentHost();
  ExperimentHost(const ExperimentHost&) = delete;
  ExperimentHost& operator=(const ExperimentHost&) = delete;

  // Calls that wait for a run to close end with UNAVAILABLE from now on. Call this before the server stops.
  void BeginStop();

  // These calls wait for the disk. Errors as ExperimentService.
  // Returns the ids of the members of a population, in their order; otherwise one id.
  absl::StatusOr<std::vector<std::string>> Submit(const Submission& submission);
  absl::Status Stop(const std::string& id);
  // `limits`, {"stop.max_env_steps", "100000"}, hold from now on; the others stay. Continues from `cut`, if it is not
  // 0.
  absl::Status Resume(const std::string& id, const SettingValues& limits = {}, uint64_t cut = 0);
  // The complete cuts, the one that is being made, and why the newest attempt failed.
  absl::StatusOr<v1::CutsResponse> Cuts(const std::string& id);
  absl::Status SetPriority(const std::string& id, int64_t priority);
  // Sets numbers, {"algorithm.optimizer.learning_rate", "1e-4"}; not if `dry_run`. Returns the changes.
  absl::StatusOr<std::vector<SettingChange>> Set(const std::string& id,
                                                 const std::vector<std::pair<std::string, std::string>>& numbers,
                                                 bool dry_run);
  // Like Resume, waits until the run is closed.
  absl::Status Delete(const std::string& id);
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after);
  absl::StatusOr<ExperimentTexts> Texts(const std::string& id);
  // The folders with the experiment's files. NOT_FOUND if it does not exist. Does not block.
  absl::StatusOr<ResultFolders> Folders(const std::string& id);
  // The last overview of an experiment that does not run. An empty id stands for the only experiment. UNAVAILABLE while
  // the experiment is being opened; NOT_FOUND if it does not exist; FAILED_PRECONDITION if there are several.
  absl::StatusOr<v1::OverviewResponse> PastOverview(const std::string& id);

  // The other calls return at once.
  // The newest experiments first. A token means that there may be more.
  v1::ListExperimentsResponse List(const ExperimentQuery& query);
  absl::StatusOr<v1::ExperimentInfo> Get(const std::string& id);
  // Begins a cut of a running experiment, and returns its number.
  absl::StatusOr<uint64_t> BeginCut(const std::string& id);
  absl::StatusOr<v1::ResolveResponse> Resolve(const std::string& word);
  // Why queued experiments cannot begin in the pool as it is, or within their quotas: a sentence each, without repeats.
  std::vector<std::string> Impossible(const std::vector<std::string>& ids);
  std::vector<v1::PoolMember> Members();
  // Null for an experiment that does not run: its texts are on the disk alone.
  std::shared_ptr<const ExperimentTexts> TextsOfRunning(const std::string& id);
  // See FindRun. An empty id stands for the only experiment that runs.
  absl::StatusOr<std::shared_ptr<RunServices>> Find(const std::string& id);

  // See WriteHostFigures.
  void WriteFigures(PrometheusText* text);
  // Returns once this has had the lock that every call needs: a sign that the host is not stuck.
  void Touch();

  // Calls `listener` after each change of an experiment's state. As ModelStore::Watch.
  std::unique_ptr<Listeners::Subscription> Watch(std::function<void()> listener) {
    return state_->listeners.Add(std::move(listener));
  }

  // A process of the pool attends. Calls `reply` once, from any thread: when there is news for the process, after a
  // while, or at once if it cannot attend. Returns a number for BreakOff.
  uint64_t Attend(const v1::AttendRequest& attendance, AttendReply reply);
  // The process has broken the call off. Calls its reply with CANCELLED, unless it was called before.
  void BreakOff(uint64_t call);

 private:
  explicit ExperimentHost(std::unique_ptr<HostState> state) : state_(std::move(state)) {}

  // Waits until the run of an experiment that is over is closed. NOT_FOUND if there is no such experiment,
  // FAILED_PRECONDITION if it takes too long, UNAVAILABLE if this hub stops.
  absl::Status AwaitClosed(const std::string& id);
  // The id, or if it is empty that of the only experiment. Errors as PastOverview.
  absl::StatusOr<std::string> OnlyOne(const std::string& id);

  const std::unique_ptr<HostState> state_;
  Thread thread_;  // Last: it uses the state.
};

}  // namespace waggle
