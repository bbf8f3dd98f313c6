// No test of its own: tests/e2e/gradients_test.cc starts both.
#include "param_server/gradient_processes.h"

#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/gradient_client/gradient_link.h"
#include "common/hub_client/hub_client.h"
#include "common/hub_client/model_client.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rpc/server.h"
#include "param_server/gradients/gradient_service.h"
#include "param_server/gradients/reducer_process.h"

namespace waggle {
namespace {

constexpr absl::Duration kLeaveTimeout = absl::Seconds(2);
constexpr absl::Duration kShutdownGrace = absl::Milliseconds(100);

// Serves, joins the hub and has `run` do the rest.
absl::Status Serve(const GradientProcessOptions& options, Role role, const StopToken& stop,
                   const std::function<absl::Status(HubLink* hub, Metrics* metrics, GradientRunner* runner,
                                                    std::function<void(GradientModel)> serve)>& run) {
  Metrics metrics;
  GradientRunner runner;  // Outlives the streams, which hand it gradients.
  GradientServiceOptions service_options;
  service_options.role = role == Role::kLearner ? "primary" : "reducer";
  GradientService service(service_options, &metrics);
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<RpcServer> server, RpcServer::Start(options.listen, {&service}));
  HubClientOptions hub_options;
  hub_options.hub_address = options.hub_address;
  hub_options.role = role;
  hub_options.address = options.advertise.empty() ? server->address() : options.advertise;
  hub_options.index = options.index;
  hub_options.metrics = &metrics;
  if (const absl::Status reachable = ValidateReachable(hub_options.address); !reachable.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen ", options.listen, " needs --advertise: ", reachable.message()));
  }
  LogInfo("serving gradients at ", server->address());
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<HubLink> hub, JoinHub(hub_options, stop));
  const absl::Status status = run(hub.get(), &metrics, &runner, [&service, &runner](GradientModel model) {
    service.SetTaker(&runner, std::move(model));
  });
  server->Shutdown(kShutdownGrace);
  hub->Leave(kLeaveTimeout);
  return status;
}

}  // namespace

absl::Status ServePrimary(const GradientProcessOptions& options, const StopToken& stop) {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  GradientProcessOptions numbered = options;
  // A second primary would take the run over from the first: it is refused while that one lives.
  numbered.index = 0;
  return Serve(numbered, Role::kLearner, stop,
               [&](HubLink* hub, Metrics* metrics, GradientRunner* runner, std::function<void(GradientModel)> serve) {
                 PrimaryConnections connections;
                 connections.hub = hub;
                 connections.metrics = metrics;
                 connections.runner = runner;
                 connections.serve = std::move(serve);
                 connections.new_publisher = [&options] { return NewGrpcModelPublisher(options.hub_address); };
                 connections.new_subscriber = [&options](const std::string& model) {
                   return NewGrpcModelSubscriber(options.hub_address, model);
                 };
                 connections.definitions = &definitions;
                 return RunPrimary(options.primary, connections);
               });
}

absl::Status ServeReducer(const GradientProcessOptions& options, const StopToken& stop) {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  return Serve(options, Role::kReducer, stop,
               [&](HubLink* hub, Metrics* metrics, GradientRunner* runner, std::function<void(GradientModel)> serve) {
                 ReducerConnections connections;
                 connections.hub = hub;
                 connections.metrics = metrics;
                 connections.runner = runner;
                 connections.serve = std::move(serve);
                 connections.link = [](std::function<std::string()> address) {
                   return NewGradientLink([address = std::move(address)](int64_t) { return address(); });
                 };
                 connections.definitions = &definitions;
                 return RunReducer(connections);
               });
}

}  // namespace waggle
