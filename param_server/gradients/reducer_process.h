#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/base/metrics/metrics.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/hub/ports/gradients.h"
#include "common/hub/ports/hub.h"
#include "param_server/gradients/gradient_runner.h"

namespace waggle {

// A reducer's connections to other processes.
struct ReducerConnections {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  GradientRunner* runner = nullptr;          // Not started yet.
  std::function<void(GradientModel)> serve;  // Called with the gradients' model once the runner takes gradients.
  // A link to the primary at its present address.
  std::function<std::unique_ptr<GradientTaker>(std::function<std::string()> address)> link;
  const AlgorithmDefinitions* definitions = nullptr;
};

// A reducer's whole life. Waits until the hub knows an experiment and its environment, and adds gradients until the run
// is over. Returns OK then or after a stop; the hub's error if it refuses this reducer. Stops the runner.
absl::Status RunReducer(const ReducerConnections& connections);

}  // namespace waggle
