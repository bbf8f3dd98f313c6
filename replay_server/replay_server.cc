#include "replay_server/replay_server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Every stream has at most one task for its blocks and one for each batch in flight.
constexpr size_t kMaxQueuedTasks = 65536;

int ExecutorThreads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 16);
}

ReplayServiceOptions Counting(ReplayServiceOptions options, Metrics* metrics) {
  options.insert.on_inserted = [metrics](uint64_t items) {
    metrics->Add("items_inserted", static_cast<double>(items));
  };
  options.sample.on_sampled = [metrics](uint64_t items) { metrics->Add("items_sampled", static_cast<double>(items)); };
  return options;
}

}  // namespace

ReplayServer::ReplayServer(ReplayServerOptions options, Metrics* metrics)
    : metrics_(metrics),
      store_(options.store),
      executor_("replay", ExecutorThreads(), kMaxQueuedTasks),
      service_(&store_, &executor_, Counting(std::move(options.service), metrics)) {}

absl::StatusOr<std::unique_ptr<ReplayServer>> ReplayServer::Start(ReplayServerOptions options, Metrics* metrics) {
  const std::string listen = options.listen;
  std::unique_ptr<ReplayServer> server(new ReplayServer(std::move(options), metrics));
  WAGGLE_ASSIGN_OR_RETURN(server->server_, RpcServer::Start(listen, {&server->service_}));
  return server;
}

ReplayServer::~ReplayServer() {
  if (server_ != nullptr) {
    Shutdown(absl::ZeroDuration());
  }
}

void ReplayServer::UpdateGauges() {
  double items = 0;
  double bytes = 0;
  for (const std::shared_ptr<Table>& table : store_.tables()) {
    const Table::Info info = table->info();
    items += static_cast<double>(info.items);
    bytes += static_cast<double>(info.bytes);
  }
  metrics_->Set("items", items);
  metrics_->Set("bytes", bytes);
}

void ReplayServer::Shutdown(absl::Duration grace) {
  store_.Close();
  server_->Shutdown(grace);
}

}  // namespace waggle
