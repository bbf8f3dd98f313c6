#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/base/metrics/metrics.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "param_server/gradients/gradient_runner.h"

namespace waggle {

struct PrimaryProcessOptions {
  std::string output_dir;  // See CheckpointFolderOptions. The run's best weights are written to its folder "best", too.
};

// A primary's connections to other processes.
struct PrimaryConnections {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  GradientRunner* runner = nullptr;          // Not started yet.
  std::function<void(GradientModel)> serve;  // Called with the gradients' model once the runner takes gradients.
  std::function<std::unique_ptr<ModelPublisher>()> new_publisher;
  std::function<std::unique_ptr<ModelSubscriber>(const std::string& model)> new_subscriber;
  const AlgorithmDefinitions* definitions = nullptr;
};

// A primary's whole life; the hub sees a learner. Waits until the hub knows an experiment and its environment, and for
// weights, from a checkpoint or the first that a worker publishes. Steps them from gradients, publishes them and writes
// checkpoints. Refuses gradients between the end of training and the end of the run. Returns OK when the run is over or
// after a stop; the hub's error if it refuses this primary; any other error is reported to the hub too. Stops the
// runner.
absl::Status RunPrimary(const PrimaryProcessOptions& options, const PrimaryConnections& connections);

}  // namespace waggle
