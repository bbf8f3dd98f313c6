#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hub/ports/pool.h"
#include "replay_server/service/replay_server.h"

namespace waggle {

// A replay server's work for the pool. Takes part in the runs of experiments whose tables it holds, with figures for
// each experiment. Thread-safe.
class ReplayWork final : public PoolWork {
 public:
  // Clients reach the server at `address`. The server must outlive this.
  ReplayWork(std::string hub_address, std::string address, ReplayServer* server)
      : hub_address_(std::move(hub_address)), address_(std::move(address)), server_(server) {}

  // Blocks until `stop`, or until the hub refuses this worker. Goes on after the run's end, because its learner still
  // sends priorities then.
  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override;
  std::vector<std::string> Kept() override { return server_->store()->Experiments(); }
  void Discard(const std::string& experiment_id) override;

 private:
  const std::string hub_address_;
  const std::string address_;
  ReplayServer* const server_;
};

// The unique name of a replay server's folder, saved in it for restarts. Draws a name if the folder has none.
// DATA_LOSS, naming the file, if the file has no valid name.
absl::StatusOr<std::string> StorageId(const std::string& data_dir);

}  // namespace waggle
