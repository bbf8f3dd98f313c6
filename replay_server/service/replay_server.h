#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/net/keepalive.h"
#include "common/net/server.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/service/replay_exports.h"
#include "replay_server/service/replay_service.h"
#include "replay_server/storage/data_folder.h"
#include "replay_server/storage/disk_rows.h"
#include "replay_server/storage/journal.h"
#include "replay_server/store/replay_store.h"

namespace waggle {

struct ReplayServerOptions {
  std::string listen;  // HOST:PORT; port 0 takes a free one.
  // The folder for tables that must survive a restart, and for rows past a memory_limit; empty without such tables.
  std::string data_dir;
  absl::Duration checkpoint_period = absl::Minutes(5);
  std::vector<CutReturn> return_to = {};  // See DataFolderOptions.
  Keepalive keepalive = kServerKeepalive;
  RpcFigures* rpcs = nullptr;  // Takes the durations of calls, if it is not null. Outlives the server.
  ReplayStoreOptions store;
  ReplayServiceOptions service;
};

// A replay server that listens: its tables, its service and its threads.
class ReplayServer {
 public:
  // Restores the tables of its folder, then listens. The errors are DataFolder::Open's and RpcServer::Start's, and
  // INVALID_ARGUMENT for wrong options. `metrics` must outlive the server; it counts items_inserted, items_sampled and
  // refused_… by reason (refusals.h).
  static absl::StatusOr<std::unique_ptr<ReplayServer>> Start(ReplayServerOptions options, Metrics* metrics);
  ~ReplayServer();
  ReplayServer(const ReplayServer&) = delete;
  ReplayServer& operator=(const ReplayServer&) = delete;

  // HOST:PORT, with the actual port.
  const std::string& address() const { return server_->address(); }

  // Sets the gauges (see SetTableGauges), forgets writers that left long ago and ends samplers that do not read. Must
  // be called about once a second, and before the gauges are read. Any thread.
  void UpdateGauges() ABSL_LOCKS_EXCLUDED(gauges_mutex_);

  // See WriteReplayWaits. Any thread.
  void WriteWaits(PrometheusText* text) const { WriteReplayWaits(store_, journal_.get(), text); }

  ReplayStore* store() { return &store_; }
  // Null without a folder. Only its functions for any thread may be called.
  const DataFolder* folder() const { return folder_.get(); }

  // The returns to cuts that the start could not make.
  const std::vector<FailedReturn>& failed_returns() const { return failed_returns_; }
  // Why the disk does not take changes now. Any thread.
  absl::Status storage_status() const { return journal_ == nullptr ? absl::OkStatus() : journal_->status(); }

  // Answers waiting calls with UNAVAILABLE, saves all durable data, gives other calls `grace` to end, and stops.
  // Idempotent. The destructor calls it without grace.
  void Shutdown(absl::Duration grace);

 private:
  ReplayServer(ReplayServerOptions options, Metrics* metrics, std::unique_ptr<DataFolder> folder,
               std::shared_ptr<DiskRows> disk_rows, std::unique_ptr<Journal> journal);

  Metrics* const metrics_;
  Mutex gauges_mutex_;                        // Held while gauges are set, so that older ones never replace newer ones.
  const std::unique_ptr<DataFolder> folder_;  // These four are null without a folder.
  const std::shared_ptr<DiskRows> disk_rows_;
  const std::unique_ptr<Journal> journal_;
  const std::unique_ptr<ChunkTiers> tiers_;
  ReplayStore store_;
  // Both end after the calls whose tasks they run. Their destructors run queued tasks, and tasks of executor_ may
  // submit to disk_executor_, which is declared first for that.
  Executor disk_executor_;  // For tasks that may wait for the disk, so that others do not.
  Executor executor_;
  ReplayService service_;
  std::unique_ptr<RpcServer> server_;
  std::vector<FailedReturn> failed_returns_;
};

}  // namespace waggle
