#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/machine_memory.h"
#include "common/base/metrics/metrics.h"
#include "common/base/metrics/order_figures.h"
#include "common/base/process/allocator.h"
#include "common/base/process/flags.h"
#include "common/base/process/monitor.h"
#include "common/base/process/pool_process.h"
#include "common/base/process/process.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/base/threads/thread.h"
#include "common/hub/pool_client.h"
#include "common/net/local_address.h"
#include "common/net/rpc_figures.h"
#include "common/net/security/security.h"
#include "replay_server/replay_flags.h"
#include "replay_server/replay_work.h"
#include "replay_server/service/replay_exports.h"
#include "replay_server/service/replay_server.h"

namespace waggle {
namespace {

constexpr absl::Duration kTendInterval = absl::Seconds(1);
// Freed memory is kept for later use, but not the peak of all threads: batches read from disk take megabytes each.
constexpr absl::Duration kReturnInterval = absl::Seconds(10);
constexpr int64_t kMostKeptBytes = int64_t{64} << 20;
constexpr absl::Duration kGrace = absl::Seconds(1);
// Each experiment has a thread and a link to the hub.
constexpr int64_t kMostExperiments = 64;

// Updates the gauges and returns freed memory until `ended`. Each round takes the tables' locks, so that a server whose
// tables are stuck counts as stuck.
void Tend(ReplayServer* server, Monitor* monitor, const StopToken& ended) {
  Stopwatch since_return;
  do {
    server->UpdateGauges();
    monitor->Beat();
    if (since_return.Elapsed() >= kReturnInterval) {
      ReturnFreedMemory(kMostKeptBytes);
      since_return = Stopwatch();
    }
  } while (!ended.WaitFor(kTendInterval));
}

// The returns to cuts of one server.
struct Returns {
  std::vector<CutReturn> next;  // The server must start again with the tables of these cuts, if there are any.
  std::vector<FailedReturn> failed;
};

// Works for the hub's experiments until `stop`, or until the server must start again: see Returns.
absl::Status JoinPool(const ReplayFlags& flags, ReplayServer* server, Monitor* monitor, const StopToken& stop,
                      Returns* returns) {
  PoolClientOptions options;
  options.attended = [monitor](const std::string& why_not) { monitor->SetUnready(why_not); };
  options.hub_address = flags.param_server;
  options.kind = WorkerKind::kReplayServer;
  WAGGLE_ASSIGN_OR_RETURN(options.address,
                          ReachableAddress(server->address(), flags.advertise, flags.param_server, stop));
  if (!flags.data_dir.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(options.storage_id, StorageId(flags.data_dir));
  }
  options.wanted_index = flags.index;
  options.capacity = kMostExperiments;
  options.resources = MachineResources();
  LogInfo("works for the experiments of the hub at ", flags.param_server, ", which reach it at ", options.address);
  const StopToken leave;
  const StopToken::Callback stops(stop, [leave] { leave.RequestStop(); });
  ReplayWork work(flags.param_server, options.address, server, leave, returns->failed);
  const absl::Status worked = WorkForPool(options, &work, leave);
  returns->next = work.returns();
  return worked;
}

// Serves until `stop`, or until the server must start again: see Returns.
absl::Status Serve(const ReplayFlags& flags, ReplayServerOptions options, Metrics* metrics, Monitor* monitor,
                   const StopToken& stop, Returns* returns) {
  options.return_to = std::exchange(returns->next, {});
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayServer> server, ReplayServer::Start(options, metrics));
  returns->failed.insert(returns->failed.end(), server->failed_returns().begin(), server->failed_returns().end());
  LogInfo("serving replay on ", server->address());
  const auto collecting = monitor->Add([server = server.get()](PrometheusText* text) { server->WriteWaits(text); });
  const StopToken ended;
  Thread tending("tending", [&, ended] { Tend(server.get(), monitor, ended); });
  absl::Status status;
  if (!flags.param_server.empty()) {
    status = JoinPool(flags, server.get(), monitor, stop, returns);
  } else {
    monitor->SetUnready("");
    LogInfo("serves alone: without --param-server no experiment uses this server");
    stop.Wait();
  }
  LogInfo("stopping");
  ended.RequestStop();
  tending.Join();
  server->Shutdown(kGrace);
  return status;
}

absl::Status RunReplayServer(const ReplayFlags& flags, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(SetProcessSecurity(flags.security));
  Metrics metrics;
  MonitorOptions monitored;
  monitored.listen = flags.metrics_listen;
  monitored.part = "replay";
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Monitor> monitor, Monitor::Start(monitored));
  OrderFigures figures(ReplayFigures());
  const auto exported = figures.Attach(&metrics);
  RpcFigures rpcs;
  ReplayServerOptions options = flags.ServerOptions();
  options.rpcs = flags.metrics_listen.empty() ? nullptr : &rpcs;
  if (const std::string warning = MemoryWarning(options, MachineMemoryBytes()); !warning.empty()) {
    LogWarning(warning);
  }
  const auto collecting = monitor->Add([&](PrometheusText* text) {
    figures.Write(text);
    rpcs.Write(text);
  });
  Returns returns;
  absl::Status status;
  do {
    status = Serve(flags, options, &metrics, monitor.get(), stop, &returns);
  } while (status.ok() && !returns.next.empty() && !stop.StopRequested());
  return status;
}

}  // namespace
}  // namespace waggle

int ReplayServerMain(int argc, char** argv) {
  waggle::ReplayFlags flags;
  const std::shared_ptr<CLI::App> app = waggle::NewCommandLine(
      "Waggle's replay server: holds the tables that actors write to and learners sample from, "
      "of any number of experiments.",
      "waggle-replay-server");
  waggle::AddReplayFlags(app.get(), waggle::MachineMemoryBytes(), &flags);
  if (const std::optional<int> exit_status = waggle::ParseCommandLine(app.get(), argc, argv); exit_status.has_value()) {
    return *exit_status;
  }
  return waggle::RunProcess("replay-server", flags.log,
                            [&flags](const waggle::StopToken& stop) { return waggle::RunReplayServer(flags, stop); });
}
