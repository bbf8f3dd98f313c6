#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/executor.h"
#include "common/metrics/metrics.h"
#include "common/rpc/server.h"
#include "replay_server/replay_service.h"
#include "replay_server/table/replay_store.h"

namespace waggle {

struct ReplayServerOptions {
  std::string listen;  // HOST:PORT; port 0 takes a free one.
  ReplayStoreOptions store;
  ReplayServiceOptions service;
};

// A replay server that listens: its tables, its service and its threads.
class ReplayServer {
 public:
  // The errors are RpcServer::Start's. `metrics` outlives the server: it counts items_inserted and items_sampled.
  static absl::StatusOr<std::unique_ptr<ReplayServer>> Start(ReplayServerOptions options, Metrics* metrics);
  ~ReplayServer();
  ReplayServer(const ReplayServer&) = delete;
  ReplayServer& operator=(const ReplayServer&) = delete;

  // HOST:PORT, with the port that was taken.
  const std::string& address() const { return server_->address(); }

  // Sets the gauges: items and bytes, over all tables.
  void UpdateGauges();

  // Answers all who wait with UNAVAILABLE, gives other calls `grace` to end, and ends. Idempotent; the destructor does
  // it too, without grace.
  void Shutdown(absl::Duration grace);

 private:
  ReplayServer(ReplayServerOptions options, Metrics* metrics);

  Metrics* const metrics_;
  ReplayStore store_;
  Executor executor_;  // Ends after the calls whose tasks it runs.
  ReplayService service_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace waggle
