#include "param_server/gradient_processes.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/process/pool_process.h"
#include "common/base/status_macros.h"
#include "common/hub/gradients/gradient_link.h"
#include "common/hub/hub_client.h"
#include "common/hub/model_client.h"
#include "common/hub/pool_client.h"
#include "common/net/local_address.h"
#include "common/rl/algorithms/definitions.h"
#include "param_server/gradients/primary_process.h"
#include "param_server/gradients/reducer_process.h"

namespace waggle {
namespace {

constexpr absl::Duration kLeaveTimeout = absl::Seconds(2);
constexpr absl::Duration kStreamsGrace = absl::Milliseconds(100);

std::vector<ExportedFigure> ReducerFigures() {
  using Kind = ExportedFigure::Kind;
  return {
      {"gradients_pushed", "waggle_reducer_gradients_received_total", Kind::kCounter, "Gradients that arrived."},
      {"gradients_applied", "waggle_reducer_gradients_applied_total", Kind::kCounter,
       "Gradients that changed the weights."},
      {"gradients_refused_*",
       "waggle_reducer_gradients_refused_total",
       Kind::kCounter,
       "Gradients that were refused, by reason.",
       {{"reason", ""}}},
      {"gradients_repeated", "waggle_reducer_gradients_repeated_total", Kind::kCounter,
       "Gradients that arrived a second time."},
      {"gradient_sums_split", "waggle_reducer_sums_split_total", Kind::kCounter,
       "Sums that were refused, and sent again as single gradients."},
  };
}

}  // namespace

GradientWork::GradientWork(const GradientProcessOptions& options, PoolMonitor* monitor)
    : options_(options), monitor_(monitor), definitions_(BuiltinAlgorithmDefinitions()) {}

absl::StatusOr<std::unique_ptr<GradientWork>> GradientWork::Start(const GradientProcessOptions& options,
                                                                  PoolMonitor* monitor) {
  WAGGLE_RETURN_IF_ERROR(ValidateHostPort(options.listen, /*allow_port_zero=*/true));
  std::unique_ptr<GradientWork> work(new GradientWork(options, monitor));
  WAGGLE_ASSIGN_OR_RETURN(work->server_,
                          RpcServer::Start(options.listen, {&work->service_}, kServerKeepalive, monitor->rpcs()));
  return work;
}

absl::Status GradientWork::Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) {
  Metrics metrics;
  const auto exported = monitor_->orders()->Attach(&metrics);
  GradientRunner runner;
  HubClientOptions hub_options = HubOptionsOf(options_.hub_address, order, run_worker_id);
  WAGGLE_ASSIGN_OR_RETURN(hub_options.address,
                          ReachableAddress(address(), options_.advertise, options_.hub_address, stop));
  hub_options.metrics = &metrics;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<HubLink> hub, JoinHub(hub_options, stop));
  LogInfo("serving gradients at ", address());
  service_.Begin(order.role == Role::kLearner ? "primary" : "reducer", order.experiment_id, &metrics);
  const auto serve = [this, &runner](GradientModel model) { service_.SetTaker(&runner, std::move(model)); };
  const absl::Status status = order.role == Role::kLearner ? Step(order, hub.get(), &metrics, &runner, serve)
                                                           : Reduce(order, hub.get(), &metrics, &runner, serve);
  service_.End(kStreamsGrace);
  hub->Leave(kLeaveTimeout);
  return status;
}

absl::Status GradientWork::Step(const WorkOrder& order, HubLink* hub, Metrics* metrics, GradientRunner* runner,
                                std::function<void(GradientModel)> serve) const {
  const RunAddress run(options_.hub_address, order.experiment_id);
  PrimaryConnections connections;
  connections.hub = hub;
  connections.metrics = metrics;
  connections.runner = runner;
  connections.serve = std::move(serve);
  connections.new_publisher = [&run] { return NewGrpcModelPublisher(run); };
  connections.new_subscriber = [&run](const std::string& model) { return NewGrpcModelSubscriber(run, model); };
  connections.definitions = &definitions_;
  PrimaryProcessOptions process;
  process.output_dir = OutputFolderOf(order);
  return RunPrimary(process, connections);
}

absl::Status GradientWork::Reduce(const WorkOrder& order, HubLink* hub, Metrics* metrics, GradientRunner* runner,
                                  std::function<void(GradientModel)> serve) const {
  ReducerConnections connections;
  connections.hub = hub;
  connections.metrics = metrics;
  connections.runner = runner;
  connections.serve = std::move(serve);
  connections.link = [&order](std::function<std::string()> address) {
    return NewGradientLink(order.experiment_id, [address = std::move(address)](int64_t) { return address(); });
  };
  connections.definitions = &definitions_;
  return RunReducer(connections);
}

absl::Status ServeGradients(const GradientProcessOptions& options, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<PoolMonitor> monitor,
                          PoolMonitor::Start(options.metrics_listen, "reducer", ReducerFigures()));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<GradientWork> work, GradientWork::Start(options, monitor.get()));
  PoolClientOptions pool;
  pool.attended = monitor->attended();
  WAGGLE_ASSIGN_OR_RETURN(pool.address,
                          ReachableAddress(work->address(), options.advertise, options.hub_address, stop));
  LogInfo("waits for orders of the hub at ", options.hub_address, ", at ", work->address());
  pool.hub_address = options.hub_address;
  pool.kind = WorkerKind::kGradient;
  pool.wanted_index = options.index;
  pool.resources = MachineResources();
  return WorkForPool(pool, work.get(), stop);
}

}  // namespace waggle
