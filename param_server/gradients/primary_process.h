#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/api/hub.h"
#include "common/api/model.h"
#include "common/experiment/algorithm_definition.h"
#include "common/metrics/metrics.h"
#include "param_server/gradients/gradient_runner.h"

namespace waggle {

// Where checkpoints are: see CheckpointFolderOptions.
struct PrimaryProcessOptions {
  std::string output_dir;  // The run's best weights are written to its folder "best", too.
};

// How a primary reaches the others.
struct PrimaryConnections {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  GradientRunner* runner = nullptr;          // Not started yet.
  std::function<void(GradientModel)> serve;  // Called once the runner takes gradients, of this model.
  std::function<std::unique_ptr<ModelPublisher>()> new_publisher;
  std::function<std::unique_ptr<ModelSubscriber>(const std::string& model)> new_subscriber;
  const AlgorithmDefinitions* definitions = nullptr;
};

// A primary's whole life, which to the hub is a learner's: waits until the hub knows an experiment and its environment,
// and until there are weights, from a checkpoint or those that a worker has published first; steps them from gradients,
// publishes them, writes checkpoints. Once training is over it refuses gradients until the run is. Returns OK then or
// after a stop; the hub's refusal where it refuses this primary; any other error is reported to the hub too. The runner
// is stopped when it returns.
absl::Status RunPrimary(const PrimaryProcessOptions& options, const PrimaryConnections& connections);

}  // namespace waggle
