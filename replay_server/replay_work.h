#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hub/ports/pool.h"
#include "replay_server/service/replay_server.h"

namespace waggle {

// What a replay server does for the pool: it takes part in the runs of experiments whose tables it holds, each with
// figures of its own, while all of them are served alike. Thread-safe.
class ReplayWork final : public PoolWork {
 public:
  // `address` is where others reach the server, which outlives this.
  ReplayWork(std::string hub_address, std::string address, ReplayServer* server)
      : hub_address_(std::move(hub_address)), address_(std::move(address)), server_(server) {}

  // Until `stop`: longer than the run lasts, for its learner still has priorities to send when it is over.
  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override;
  std::vector<std::string> Kept() override { return server_->store()->Experiments(); }
  void Discard(const std::string& experiment_id) override;

 private:
  const std::string hub_address_;
  const std::string address_;
  ReplayServer* const server_;
};

// What tells a replay server's folder from all others, also after a restart: a name that is made up when the folder has
// none yet, and kept there. DATA_LOSS, naming the file, where it holds something else.
absl::StatusOr<std::string> StorageId(const std::string& data_dir);

}  // namespace waggle
