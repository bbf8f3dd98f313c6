#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/thread.h"
#include "param_server/experiments/experiment_store.h"
#include "param_server/experiments/experiment_view.h"
#include "param_server/experiments/host_state.h"
#include "param_server/pool/worker_pool.h"
#include "param_server/run/listeners.h"
#include "param_server/services/run_services.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

// The experiments of a hub, from their submission to their end, and the processes that work for them. Thread-safe.
//
// A thread of its own decides who begins and what is closed, and answers the pool; it never waits for a disk. Those
// that wait begin as soon as there are workers for them, those of higher priority first, then those that came earlier;
// one that has to wait for workers who are busy holds up those behind it, and one for which there are too few at all
// does not. Runs are opened and closed by an executor. One whose files cannot be opened for now, as a disk is full or
// missing, is tried again, in the queue or running as it was.
class ExperimentHost {
 public:
  // Reads what is kept; what ran goes on. An error names the file that cannot be read or written.
  static absl::StatusOr<std::unique_ptr<ExperimentHost>> Open(const ExperimentHostOptions& options);
  // Returns when all is written. Runs go on when the next hub opens the folder.
  ~ExperimentHost();
  ExperimentHost(const ExperimentHost&) = delete;
  ExperimentHost& operator=(const ExperimentHost&) = delete;

  // Calls that wait for a run to close end with UNAVAILABLE from now on: for a process that stops, before its server.
  void BeginStop();

  // These wait for the disk. Their errors are those of ExperimentService.
  absl::StatusOr<std::string> Submit(const Submission& submission);
  absl::Status Stop(const std::string& id);
  absl::Status Resume(const std::string& id);
  // As Resume waits for one that is over until its run is closed.
  absl::Status Delete(const std::string& id);
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after);
  absl::StatusOr<ExperimentTexts> Texts(const std::string& id);
  // What is known of an experiment that does not run; UNAVAILABLE while it is being opened, NOT_FOUND where there is
  // none. An empty id stands for the only one that there is; FAILED_PRECONDITION, naming some, where there are several.
  absl::StatusOr<v1::OverviewResponse> PastOverview(const std::string& id);

  // Those that only look return at once.
  // The newest first. There may be more if there is a token.
  v1::ListExperimentsResponse List(const ExperimentQuery& query);
  absl::StatusOr<v1::ExperimentInfo> Get(const std::string& id);
  std::vector<v1::PoolMember> Members();
  // The texts of an experiment that runs; null for any other, whose texts are on the disk alone.
  std::shared_ptr<const ExperimentTexts> TextsOfRunning(const std::string& id);
  // See FindRun. An empty id stands for the only experiment that runs.
  absl::StatusOr<std::shared_ptr<RunServices>> Find(const std::string& id);

  // Calls `listener` whenever the state of an experiment changes. As ModelStore::Watch.
  std::unique_ptr<Listeners::Subscription> Watch(std::function<void()> listener) {
    return state_->listeners.Add(std::move(listener));
  }

  // A process of the pool attends. Calls `reply` once, from any thread, when there is news for it or after a while; at
  // once where it cannot attend. Returns a number for BreakOff.
  uint64_t Attend(const v1::AttendRequest& attendance, AttendReply reply);
  // It has broken that call off: nobody waits for the answer any more, which may be called all the same.
  void BreakOff(uint64_t call);

 private:
  explicit ExperimentHost(std::unique_ptr<HostState> state) : state_(std::move(state)) {}

  // FAILED_PRECONDITION if a further experiment would share its output folder with another.
  absl::Status CheckOwnFolder();
  // Waits until the run of an experiment that is over is closed. NOT_FOUND if there is no such experiment,
  // FAILED_PRECONDITION if it takes too long, UNAVAILABLE if this hub stops.
  absl::Status AwaitClosed(const std::string& id);
  // The id, or that of the only experiment if it is empty.
  absl::StatusOr<std::string> OnlyOne(const std::string& id);

  const std::unique_ptr<HostState> state_;
  Thread thread_;  // Last: it uses the state.
};

}  // namespace waggle
