#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/net/keepalive.h"
#include "common/net/server.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/service/replay_service.h"
#include "replay_server/storage/data_folder.h"
#include "replay_server/storage/disk_rows.h"
#include "replay_server/storage/journal.h"
#include "replay_server/store/replay_store.h"

namespace waggle {

struct ReplayServerOptions {
  std::string listen;  // HOST:PORT; port 0 takes a free one.
  // Where tables are kept that are to survive a restart, and rows past a memory_limit; empty where there are none.
  std::string data_dir;
  absl::Duration checkpoint_period = absl::Minutes(5);
  Keepalive keepalive = kServerKeepalive;
  ReplayStoreOptions store;
  ReplayServiceOptions service;
};

// A replay server that listens: its tables, its service and its threads.
class ReplayServer {
 public:
  // Reads what its folder holds, and listens once it has all of it. The errors are DataFolder::Open's and
  // RpcServer::Start's, and INVALID_ARGUMENT for options of the service that are wrong. `metrics` outlives the server:
  // it counts items_inserted, items_sampled and refused_… by reason (refusals.h).
  static absl::StatusOr<std::unique_ptr<ReplayServer>> Start(ReplayServerOptions options, Metrics* metrics);
  ~ReplayServer();
  ReplayServer(const ReplayServer&) = delete;
  ReplayServer& operator=(const ReplayServer&) = delete;

  // HOST:PORT, with the port that was taken.
  const std::string& address() const { return server_->address(); }

  // Sets the gauges of all tables together: see SetTableGauges.
  // Tends the writers that have gone away, and the samplers that do not read: to be called about once a second, and
  // whenever the gauges are to be of now. Any thread.
  void UpdateGauges() ABSL_LOCKS_EXCLUDED(gauges_mutex_);

  // Its tables, for those who look at them, or drop some, by experiment.
  ReplayStore* store() { return &store_; }

  // Answers all who wait with UNAVAILABLE, writes everything down that is to be, gives other calls `grace` to end, and
  // ends. Idempotent; the destructor does it too, without grace.
  void Shutdown(absl::Duration grace);

 private:
  ReplayServer(ReplayServerOptions options, Metrics* metrics, std::unique_ptr<DataFolder> folder,
               std::shared_ptr<DiskRows> disk_rows, std::unique_ptr<Journal> journal);

  Metrics* const metrics_;
  Mutex gauges_mutex_;                        // Held while gauges are set: older ones never replace newer ones.
  const std::unique_ptr<DataFolder> folder_;  // These four are null without a folder.
  const std::shared_ptr<DiskRows> disk_rows_;
  const std::unique_ptr<Journal> journal_;
  const std::unique_ptr<ChunkTiers> tiers_;
  ReplayStore store_;
  // Both end after the calls whose tasks they run. Ending runs what is queued, and what is queued on the second may go
  // on on the first.
  Executor disk_executor_;  // For what may wait for the disk, so that nobody else does.
  Executor executor_;
  ReplayService service_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace waggle
