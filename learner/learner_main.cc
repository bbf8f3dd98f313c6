#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_client.h"
#include "common/hub_client/key_store_client.h"
#include "common/hub_client/model_client.h"
#include "common/process/flags.h"
#include "common/process/process.h"
#include "common/replay_client/replay_client.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rpc/server.h"
#include "learner/group/local_address.h"
#include "learner/inference/inference_service.h"
#include "learner/learner_process.h"

namespace waggle {
namespace {

constexpr absl::Duration kLeaveTimeout = absl::Seconds(2);
constexpr absl::Duration kGrace = absl::Milliseconds(100);

struct LearnerFlags {
  std::string hub_address;
  std::string listen;     // Empty: nowhere.
  std::string advertise;  // Empty: where it listens.
  int64_t index = 0;
  LearnerProcessOptions process;
};

// The address that others are told; empty where this learner listens nowhere.
absl::StatusOr<std::string> Advertised(const LearnerFlags& flags, const RpcServer* server) {
  if (server == nullptr) {
    return std::string();
  }
  const std::string address = flags.advertise.empty() ? server->address() : flags.advertise;
  if (const absl::Status reachable = ValidateReachable(address); !reachable.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen ", flags.listen, " needs --advertise: ", reachable.message()));
  }
  return address;
}

absl::Status Run(const LearnerFlags& flags, const StopToken& stop) {
  const std::string& hub_address = flags.hub_address;
  InferenceService inference;
  std::unique_ptr<RpcServer> server;
  if (!flags.listen.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(server, RpcServer::Start(flags.listen, {&inference}));
  }
  Metrics metrics;
  HubClientOptions hub_options;
  WAGGLE_ASSIGN_OR_RETURN(hub_options.address, Advertised(flags, server.get()));
  hub_options.hub_address = hub_address;
  hub_options.role = Role::kLearner;
  // Another one with the same index would take its place: it is refused while this one lives.
  hub_options.index = flags.index;
  hub_options.metrics = &metrics;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<HubLink> hub, JoinHub(hub_options, stop));
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
  LearnerConnections connections;
  connections.hub = hub.get();
  connections.metrics = &metrics;
  connections.connect_replay = [hub = hub.get()](const std::vector<std::string>& addresses) {
    return NewGrpcReplayConnection(addresses, [hub] { return hub->assignment().replay_servers; });
  };
  connections.new_publisher = [&hub_address] { return NewGrpcModelPublisher(hub_address); };
  connections.new_subscriber = [&hub_address](const std::string& model) {
    return NewGrpcModelSubscriber(hub_address, model);
  };
  if (server != nullptr) {
    connections.serve_inference = [&inference](std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash) {
      inference.SetBatcher(std::move(batcher), network_hash);
    };
  }
  connections.new_key_store = [&hub_address](uint64_t epoch) { return NewGrpcKeyStore(hub_address, epoch); };
  connections.group_host = [&hub_address] { return LocalAddressTowards(hub_address); };
  connections.definitions = &definitions;
  connections.algorithms = &algorithms;
  const absl::Status status = RunLearner(flags.process, connections);
  if (server != nullptr) {
    server->Shutdown(kGrace);
  }
  hub->Leave(kLeaveTimeout);
  return status;
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  const std::shared_ptr<CLI::App> app = waggle::NewCommandLine(
      "Trains one experiment: samples from the replay servers, publishes weights to the parameter server.",
      "waggle-learner");
  waggle::LogLevel level = waggle::LogLevel::kInfo;
  waggle::LearnerFlags flags;
  waggle::LearnerProcessOptions& options = flags.process;
  waggle::AddCommonFlags(app.get(), &level);
  waggle::AddParamServerFlag(app.get(), &flags.hub_address);
  // For actors that ask this learner for their actions (actor.inference: server).
  CLI::Option* const listen = waggle::AddListenFlag(app.get(), &flags.listen);
  waggle::SetRequired(listen, false);
  waggle::SetNeeds(waggle::AddAddressFlag(app.get(), "--advertise", &flags.advertise,
                                          "The address that actors are told, where it is not the one listened on"),
                   listen);
  waggle::AddIntegerFlag(app.get(), "--index", &flags.index, 0, waggle::kMaxLearnerProcesses - 1,
                         "Which one of the run's learners this is, where learner.processes is more than 1; 0 unless "
                         "given");
  CLI::Option* const output = waggle::AddPathFlag(
      app.get(), "--output-dir", &options.output_dir, "DIR",
      "Checkpoints are written to DIR/checkpoints, and the best weights to DIR/best; none without this. A folder that "
      "holds checkpoints already is refused without --resume, unless they are what --restore names");
  CLI::Option* const restore = waggle::AddPathFlag(app.get(), "--restore", &options.restore_dir, "DIR",
                                                   "Goes on from the newest whole checkpoint in DIR");
  CLI::Option* const resume =
      waggle::AddSwitch(app.get(), "--resume", &options.resume,
                        "Goes on from the checkpoints in the folder of --output-dir; if there are none, as without it");
  waggle::SetNeeds(resume, output);
  waggle::SetExcludes(resume, restore);
  if (const std::optional<int> status = waggle::ParseCommandLine(app.get(), argc, argv)) {
    return *status;
  }
  return waggle::RunProcess("learner", level, [&](const waggle::StopToken& stop) { return waggle::Run(flags, stop); });
}
