#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/registry.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/onnx/policy_graph.h"

namespace waggle {

// The greedy decision of an algorithm whose policy is its own (AlgorithmPlan::own_policy), written into a graph: what
// its AlgorithmPolicy does for ActingRows::greedy. INVALID_ARGUMENT if it cannot be written for these options.
using PolicyForm = std::function<absl::StatusOr<PolicyDecision>(const AlgorithmOptions& options, PolicyGraph* policy)>;

// By the algorithm's name.
using PolicyForms = Registry<PolicyForm>;

// A form that takes the algorithm's own options.
template <class Options>
PolicyForm FormOf(absl::StatusOr<PolicyDecision> (*decide)(const Options& options, PolicyGraph* policy)) {
  return [decide](const AlgorithmOptions& options, PolicyGraph* policy) -> absl::StatusOr<PolicyDecision> {
    const auto* const own = dynamic_cast<const Options*>(&options);
    if (own == nullptr) {
      return absl::InvalidArgumentError("algorithm: got another algorithm's options; wanted its own");
    }
    return decide(*own, policy);
  };
}

}  // namespace waggle
