#include "param_server/hub_process.h"

#include <limits.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/process/curves.h"
#include "common/base/process/find_program.h"
#include "common/base/process/monitor.h"
#include "common/base/status_macros.h"
#include "common/net/rpc_figures.h"
#include "common/net/server.h"
#include "common/rl/algorithms/definitions.h"
#include "param_server/experiments/experiment_host.h"
#include "param_server/experiments/host_figures.h"
#include "param_server/metrics/curve_drawer.h"
#include "param_server/pool/quotas.h"
#include "param_server/services/experiment_service.h"
#include "param_server/services/model_service.h"
#include "param_server/services/pool_service.h"
#include "param_server/services/result_service.h"
#include "param_server/services/store_service.h"
#include "param_server/services/worker_service.h"
#include "param_server/web/host_source.h"
#include "param_server/web/web_server.h"

namespace waggle {
namespace {

constexpr absl::Duration kHeartbeatInterval = absl::Seconds(1);
constexpr absl::Duration kBeat = absl::Seconds(5);
constexpr absl::Duration kShutdownGrace = absl::Seconds(1);

// Without an address: runs are opened before this process serves.
WorkerIntroduction Self() {
  char host[HOST_NAME_MAX + 1] = {};
  WorkerIntroduction self;
  self.worker_id = absl::StrCat(RoleName(Role::kParamServer), "-", getpid());
  self.role = Role::kParamServer;
  self.process_id = getpid();
  self.host = gethostname(host, sizeof(host) - 1) == 0 ? host : "unknown";
  return self;
}

// Absolute, as workers have other working folders.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : absolute.string();
}

}  // namespace

absl::Status RunHub(const HubProcessOptions& options, const StopToken& stop) {
  const std::string address_file = absl::StrCat(options.data_folder, "/address");
  std::error_code ignored;
  const std::string web_file = absl::StrCat(options.data_folder, "/web_address");
  for (const std::string& file : {address_file, web_file}) {
    std::filesystem::remove(file, ignored);  // The address of an earlier process is wrong.
  }
  MonitorOptions monitored;
  monitored.listen = options.metrics_listen;
  monitored.part = "hub";
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Monitor> monitor, Monitor::Start(monitored));
  RpcFigures rpcs;
  OrderFigures runs(HubFigures());  // Outlives the host.
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  std::optional<CurveDrawer> curves;  // Outlives the host.
  ExperimentHostOptions host_options;
  if (options.plots) {
    curves.emplace(OwnFolder());
    host_options.draw_curves = [&curves](const std::string& run_folder, const std::string& log) {
      curves->Draw(run_folder, log);
    };
  }
  host_options.data_folder = Absolute(options.data_folder);
  host_options.output_pattern = Absolute(options.output_pattern);
  host_options.self = Self();
  host_options.algorithms = &algorithms;
  if (!options.quotas_file.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(host_options.pool.quotas, LoadQuotas(options.quotas_file));
  }
  host_options.figures = &runs;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ExperimentHost> host, ExperimentHost::Open(host_options));
  const FindRun find = [host = host.get()](const std::string& id) { return host->Find(id); };
  ModelService model_service(find);
  WorkerService worker_service(find, kHeartbeatInterval,
                               [host = host.get()](const std::string& id) { return host->PastOverview(id); });
  StoreService store_service(find);
  PoolService pool_service(host.get());
  ExperimentService experiment_service(host.get());
  ResultService result_service([host = host.get()](const std::string& id) { return host->Folders(id); });
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<RpcServer> server,
                          RpcServer::Start(options.listen,
                                           {&model_service, &worker_service, &store_service, &pool_service,
                                            &experiment_service, &result_service},
                                           kServerKeepalive, options.metrics_listen.empty() ? nullptr : &rpcs));
  HostSource web_source(host.get());
  std::unique_ptr<WebServer> web;
  if (!options.web.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(web, WebServer::Start(options.web, &web_source));
    WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(web_file, web->address() + "\n"));
    LogInfo("the web page is at ", web->scheme(), "://", web->address(), "/");
  }
  WAGGLE_RETURN_IF_ERROR(WriteFileAtomically(address_file, server->address() + "\n"));
  LogInfo("serving at ", server->address());
  const auto collecting = monitor->Add([&](PrometheusText* text) {
    host->WriteFigures(text);
    runs.Write(text);
    rpcs.Write(text);
  });
  monitor->SetUnready("");
  do {
    host->Touch();
    monitor->Beat();
  } while (!stop.WaitFor(kBeat));
  std::filesystem::remove(address_file, ignored);
  std::filesystem::remove(web_file, ignored);
  host->BeginStop();
  web.reset();
  server->Shutdown(kShutdownGrace);
  return absl::OkStatus();
}

}  // namespace waggle
