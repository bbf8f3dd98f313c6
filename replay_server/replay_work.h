#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/pool.h"
#include "replay_server/service/replay_server.h"

namespace waggle {

// A replay server's work for the pool. Takes part in the runs of experiments whose tables it holds, with figures for
// each experiment. Thread-safe.
class ReplayWork final : public PoolWork {
 public:
  // Clients reach the server at `address`. The server must outlive this. `leave` is stopped if the server must stop and
  // start again with the tables of cuts: see returns(). `failed` are the returns that earlier starts failed to make;
  // an order to make one again gets its error.
  ReplayWork(std::string hub_address, std::string address, ReplayServer* server, StopToken leave,
             std::vector<FailedReturn> failed = {})
      : hub_address_(std::move(hub_address)),
        address_(std::move(address)),
        server_(server),
        leave_(std::move(leave)),
        failed_(std::move(failed)) {}

  // Blocks until `stop`, or until the hub refuses this worker. Goes on after the run's end, because its learner still
  // sends priorities then.
  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override;
  std::vector<std::string> Kept() override { return server_->store()->Experiments(); }
  void Discard(const std::string& experiment_id) override;

  // The cuts whose tables the server must have when it starts again. Empty if it need not.
  std::vector<CutReturn> returns() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Asks for a return to the cut. FAILED_PRECONDITION or NOT_FOUND if the server cannot return to it; the error of a
  // return that has failed.
  absl::Status BeginReturn(const std::string& experiment_id, const Restoration& restoration)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string hub_address_;
  const std::string address_;
  ReplayServer* const server_;
  const StopToken leave_;
  const std::vector<FailedReturn> failed_;
  mutable Mutex mutex_;
  std::vector<CutReturn> returns_ ABSL_GUARDED_BY(mutex_);
};

// The unique name of a replay server's folder, saved in it for restarts. Draws a name if the folder has none.
// DATA_LOSS, naming the file, if the file has no valid name.
absl::StatusOr<std::string> StorageId(const std::string& data_dir);

}  // namespace waggle
