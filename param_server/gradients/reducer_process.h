#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/api/gradients.h"
#include "common/api/hub.h"
#include "common/experiment/algorithm_definition.h"
#include "common/metrics/metrics.h"
#include "param_server/gradients/gradient_runner.h"

namespace waggle {

// How a reducer reaches the others.
struct ReducerConnections {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  GradientRunner* runner = nullptr;          // Not started yet.
  std::function<void(GradientModel)> serve;  // Called once the runner takes gradients, of this model.
  // The way to the primary, wherever `address` says that it is.
  std::function<std::unique_ptr<GradientTaker>(std::function<std::string()> address)> link;
  const AlgorithmDefinitions* definitions = nullptr;
};

// A reducer's whole life: waits until the hub knows an experiment and its environment, and adds gradients up until the
// run is over. Returns OK then or after a stop, and the hub's refusal where it refuses this reducer. The runner is
// stopped when it returns.
absl::Status RunReducer(const ReducerConnections& connections);

}  // namespace waggle
