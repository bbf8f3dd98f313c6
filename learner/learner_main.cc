#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/base/process/allocator.h"
#include "common/base/process/flags.h"
#include "common/base/process/pool_monitor.h"
#include "common/base/process/pool_process.h"
#include "common/base/process/process.h"
#include "common/base/process/security_flags.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_client.h"
#include "common/hub/key_store_client.h"
#include "common/hub/model_client.h"
#include "common/hub/pool_client.h"
#include "common/net/local_address.h"
#include "common/net/security/security.h"
#include "common/net/server.h"
#include "common/nn/device.h"
#include "common/replay/replay_client.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "learner/inference/inference_service.h"
#include "learner/learner_figures.h"
#include "learner/learner_process.h"

namespace waggle {
namespace {

constexpr absl::Duration kLeaveTimeout = absl::Seconds(2);
constexpr absl::Duration kGrace = absl::Milliseconds(100);
constexpr int64_t kMostKeptBytes = int64_t{64} << 20;

struct LearnerFlags {
  std::string hub_address;
  std::string listen;     // Empty: does not listen.
  std::string advertise;  // Empty: see ReachableAddress.
  std::optional<int64_t> index;
  std::string metrics_listen;
  SecurityOptions security;
};

// The work of a learner of the pool.
class LearnerWork final : public PoolWork {
 public:
  // `address` is where actors reach `inference`; empty and null if this process does not listen.
  LearnerWork(std::string hub_address, std::string address, InferenceService* inference, OrderFigures* figures)
      : hub_address_(std::move(hub_address)), address_(std::move(address)), inference_(inference), figures_(figures) {}

  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override {
    Metrics metrics;
    const auto exported = figures_->Attach(&metrics);
    HubClientOptions options = HubOptionsOf(hub_address_, order, run_worker_id);
    options.address = address_;
    options.metrics = &metrics;
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<HubLink> hub, JoinHub(options, stop));
    const RunAddress run(hub_address_, order.experiment_id);
    LearnerConnections connections;
    connections.hub = hub.get();
    connections.metrics = &metrics;
    connections.connect_replay = [hub = hub.get(), &order](const std::vector<std::string>& addresses) {
      return NewGrpcReplayConnection(
          addresses, [hub] { return hub->assignment().replay_servers; }, order.experiment_id);
    };
    connections.new_publisher = [&run] { return NewGrpcModelPublisher(run); };
    connections.new_subscriber = [&run](const std::string& model) { return NewGrpcModelSubscriber(run, model); };
    connections.new_peer_subscriber = [this](const std::string& experiment_id, const std::string& model) {
      return NewGrpcModelSubscriber(RunAddress(hub_address_, experiment_id), model);
    };
    if (inference_ != nullptr) {
      connections.serve_inference = [this](std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash) {
        inference_->SetBatcher(std::move(batcher), network_hash);
      };
    }
    connections.new_key_store = [&run](uint64_t epoch) { return NewGrpcKeyStore(run, epoch); };
    connections.group_host = [this] { return LocalAddressTowards(hub_address_); };
    connections.definitions = &definitions_;
    connections.algorithms = &algorithms_;
    LearnerProcessOptions process;
    process.output_dir = OutputFolderOf(order);
    const absl::Status status = RunLearner(process, connections);
    if (inference_ != nullptr) {
      inference_->SetBatcher(nullptr, 0);  // The next experiment's actors must not get this one's actions.
    }
    hub->Leave(kLeaveTimeout);
    ReturnFreedMemory(kMostKeptBytes);  // The next experiment may be a small one.
    return status;
  }

 private:
  const std::string hub_address_;
  const std::string address_;
  InferenceService* const inference_;
  OrderFigures* const figures_;
  const AlgorithmDefinitions definitions_ = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms_ = BuiltinAlgorithms();
};

absl::Status Run(const LearnerFlags& flags, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(SetProcessSecurity(flags.security));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<PoolMonitor> monitor,
                          PoolMonitor::Start(flags.metrics_listen, "learner", LearnerFigures()));
  InferenceService inference;
  std::unique_ptr<RpcServer> server;
  PoolClientOptions options;
  if (!flags.listen.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(server, RpcServer::Start(flags.listen, {&inference}, kServerKeepalive, monitor->rpcs()));
    WAGGLE_ASSIGN_OR_RETURN(options.address,
                            ReachableAddress(server->address(), flags.advertise, flags.hub_address, stop));
  }
  options.hub_address = flags.hub_address;
  options.attended = monitor->attended();
  options.kind = WorkerKind::kLearner;
  options.wanted_index = flags.index;
  options.resources = MachineResources();
  options.resources.devices = CudaDevices();
  LearnerWork work(flags.hub_address, options.address, server == nullptr ? nullptr : &inference, monitor->orders());
  const absl::Status status = WorkForPool(options, &work, stop);
  if (server != nullptr) {
    server->Shutdown(kGrace);
  }
  return status;
}

}  // namespace
}  // namespace waggle

int LearnerMain(int argc, char** argv) {
  const std::shared_ptr<CLI::App> app = waggle::NewCommandLine(
      "Trains the experiments that the parameter server assigns, one after the other: samples from the replay servers "
      "and publishes weights to the parameter server.",
      "waggle-learner");
  waggle::LogOptions log;
  waggle::LearnerFlags flags;
  waggle::AddCommonFlags(app.get(), &log);
  waggle::AddMetricsFlag(app.get(), &flags.metrics_listen);
  waggle::AddServerSecurityFlags(app.get(), &flags.security);
  waggle::AddParamServerFlag(app.get(), &flags.hub_address);
  // Serves actors that ask this learner for their actions (actor.inference: server).
  CLI::Option* const listen = waggle::AddListenFlag(app.get(), &flags.listen);
  waggle::SetRequired(listen, false);
  waggle::SetNeeds(
      waggle::AddAddressFlag(app.get(), "--advertise", &flags.advertise,
                             "The address that actors connect to; by default the listening address, or if that is a "
                             "wildcard the address from which this process reaches the parameter server"),
      listen);
  waggle::AddIntegerFlag(app.get(), "--index", &flags.index, 0, waggle::kMaxLearnerProcesses - 1,
                         "The index that this process prefers among an experiment's learners, if learner.processes is "
                         "more than 1 and the index is free");
  if (const std::optional<int> status = waggle::ParseCommandLine(app.get(), argc, argv)) {
    return *status;
  }
  return waggle::RunProcess(
      "learner", log, [&](const waggle::StopToken& stop) { return waggle::Run(flags, stop); },
      waggle::AllocatingThreads::kOne);
}
