// waggle-actor: steps environments and writes what happens, or evaluates greedily.

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/actor_process.h"
#include "actor/environments/environment.h"
#include "common/base/status_macros.h"
#include "common/clients/hub_client.h"
#include "common/clients/model_client.h"
#include "common/clients/replay_client.h"
#include "common/nn/device.h"
#include "common/process/flags.h"
#include "common/process/process.h"
#include "common/rl/algorithm.h"
#include "common/rl/algorithms/builtin.h"

namespace waggle {
namespace {

// A replay server remembers writers by name, so one that comes after another with the same index must have another
// name. The only randomness that does not follow from the run's seed.
std::string NewProcessId(const std::string& role) {
  std::random_device device;
  const uint64_t id = (uint64_t{device()} << 32) | device();
  return absl::StrCat(role, "-", absl::Hex(id, absl::kZeroPad16));
}

absl::StatusOr<std::unique_ptr<Policy>> NewPolicy(const AlgorithmImplementations& algorithms,
                                                  const PolicyRequest& request) {
  const ActorOptions& actor = request.experiment->actor;
  ConfigureTorch(actor.threads);
  PolicyContext context;
  WAGGLE_ASSIGN_OR_RETURN(context.device, ParseDevice(actor.device));
  context.experiment = request.experiment;
  context.environment = request.environment;
  context.lanes = request.lanes;
  context.first_lane = request.first_lane;
  context.all_lanes = request.all_lanes;
  context.seed = request.seed;
  context.first_step = request.first_step;
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmImplementation* const algorithm,
                          algorithms.Find(request.experiment->algorithm));
  return algorithm->new_policy(context);
}

absl::Status Run(const std::string& hub_address, bool evaluate, std::optional<int64_t> index, const StopToken& stop) {
  const Role role = evaluate ? Role::kEvaluator : Role::kActor;
  Metrics metrics;
  HubClientOptions hub_options;
  hub_options.hub_address = hub_address;
  hub_options.role = role;
  hub_options.index = index;
  hub_options.metrics = &metrics;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<HubLink> hub, JoinHub(hub_options, stop));
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
  ActorPorts ports;
  ports.hub = hub.get();
  ports.metrics = &metrics;
  ports.environments = &environments;
  ports.algorithms = &definitions;
  ports.connect_replay = [hub = hub.get()](const std::vector<std::string>& addresses) {
    return NewGrpcReplayConnection(addresses, [hub] { return hub->assignment().replay_servers; });
  };
  // What an evaluator has pulled is kept until it has said how good it is.
  const std::string holder = evaluate ? hub->assignment().worker_id : "";
  ports.new_subscriber = [&hub_address, &holder](const std::string& model) {
    return absl::StatusOr<std::unique_ptr<ModelSubscriber>>(NewGrpcModelSubscriber(hub_address, model, holder));
  };
  ports.new_policy = [&algorithms](const PolicyRequest& request) { return NewPolicy(algorithms, request); };
  ports.process_id = NewProcessId(RoleName(role));
  return evaluate ? RunEvaluator(ports) : RunActor(ports);
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  const std::shared_ptr<CLI::App> app = waggle::NewCommandLine(
      "Steps environments with the newest weights: writes what happens to replay, or evaluates greedily.",
      "waggle-actor");
  waggle::LogLevel level = waggle::LogLevel::kInfo;
  std::string hub_address;
  bool evaluate = false;
  std::optional<int64_t> index;
  waggle::AddCommonFlags(app.get(), &level);
  waggle::AddParamServerFlag(app.get(), &hub_address);
  waggle::AddSwitch(app.get(), "--evaluator", &evaluate,
                    "Runs greedy episodes and reports their returns instead of training");
  waggle::AddIntegerFlag(app.get(), "--index", &index, 0, 9999,
                         "Which actor, or evaluator, this is: its random numbers and its share of the exploration "
                         "follow from it. One that is started again with its index takes the dead one's place; "
                         "without it the parameter server gives out the lowest that is free");
  if (const std::optional<int> status = waggle::ParseCommandLine(app.get(), argc, argv)) {
    return *status;
  }
  return waggle::RunProcess(evaluate ? "evaluator" : "actor", level, [&](const waggle::StopToken& stop) {
    return waggle::Run(hub_address, evaluate, index, stop);
  });
}
