#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_client.h"
#include "common/hub_client/model_client.h"
#include "common/process/flags.h"
#include "common/process/process.h"
#include "common/replay_client/replay_client.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "learner/learner_process.h"

namespace waggle {
namespace {

constexpr absl::Duration kLeaveTimeout = absl::Seconds(2);

absl::Status Run(const std::string& hub_address, const LearnerProcessOptions& options, const StopToken& stop) {
  Metrics metrics;
  HubClientOptions hub_options;
  hub_options.hub_address = hub_address;
  hub_options.role = Role::kLearner;
  // A second learner would take the run over from the first: it is refused while that one lives.
  hub_options.index = 0;
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
  connections.definitions = &definitions;
  connections.algorithms = &algorithms;
  const absl::Status status = RunLearner(options, connections);
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
  std::string hub_address;
  waggle::LearnerProcessOptions options;
  waggle::AddCommonFlags(app.get(), &level);
  waggle::AddParamServerFlag(app.get(), &hub_address);
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
  return waggle::RunProcess("learner", level,
                            [&](const waggle::StopToken& stop) { return waggle::Run(hub_address, options, stop); });
}
