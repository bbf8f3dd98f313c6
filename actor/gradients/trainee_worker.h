#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "actor/gradients/gradient_worker.h"
#include "common/base/metrics/metrics.h"
#include "common/config/experiment/experiment.h"
#include "common/hub/ports/gradients.h"
#include "common/nn/torch.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {

// A worker that computes gradients by the experiment's algorithm. `sink` and `metrics` outlive it. Like a learner it
// reports means of the algorithm's metrics ("algorithm/…") and items_learned. INVALID_ARGUMENT if the experiment does
// not fit the environment.
absl::StatusOr<std::unique_ptr<GradientWorker>> NewTraineeWorker(
    const Experiment& experiment, const EnvironmentSpec& environment, const AlgorithmDefinitions& definitions,
    const AlgorithmImplementations& implementations, torch::Device device, GradientSink* sink, Metrics* metrics);

}  // namespace waggle
