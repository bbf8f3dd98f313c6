#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "actor/actor_process.h"
#include "actor/environments/environment.h"
#include "actor/evaluation/saved_weights.h"
#include "actor/pictures/video_options.h"
#include "common/base/stop_token.h"
#include "common/experiment/algorithm_definition.h"
#include "common/metrics/sample_statistics.h"

namespace waggle {

// How well saved weights do.
struct SavedEvaluation {
  SavedKind kind = SavedKind::kWeights;
  std::string folder;
  std::string experiment;
  std::string algorithm;
  std::string environment;
  std::optional<uint64_t> epoch;    // Of the learner that made them; a learner's checkpoint does not know its own.
  std::optional<uint64_t> version;  // That learner's step; random actions have none.
  std::optional<double> env_steps;  // Of the run when they were published; a learner does not know them.
  bool explored = false;            // It acted as an actor does, not greedily.
  int64_t seed = 0;
  SampleStatistics returns;
  SampleStatistics lengths;             // In steps.
  double seconds = 0;                   // That the episodes took.
  std::optional<std::string> recorded;  // The replay file of the episodes.
  std::optional<std::string> video;     // The folder of the files that show episodes.
};

struct SavedEvaluationOptions {
  int64_t episodes = 100;
  int64_t seed = 0;
  std::string device;  // Empty: the experiment's own.
  std::optional<VideoOptions> video;
  // A new replay file that the episodes become, of the environment that is trained in; absent: they are of that of
  // evaluations, and forgotten.
  std::optional<std::string> record;
  bool explore = false;  // Acts as an actor does. Only beside `record`.
};

// How the evaluation gets its environments and networks. Pointers are borrowed and never null.
struct SavedEvaluationPorts {
  const EnvironmentDefinitions* environments = nullptr;
  const AlgorithmDefinitions* algorithms = nullptr;
  std::function<absl::StatusOr<std::unique_ptr<Policy>>(const PolicyRequest& request)> new_policy;
  // The weights with which the learner of this state acts. FAILED_PRECONDITION if the state is not that of the
  // request's experiment.
  std::function<absl::StatusOr<ModelSnapshot>(const CheckpointContents& learner, const PolicyRequest& request)>
      learner_weights;
};

// Runs greedy episodes with the weights, or episodes of random actions if there are none. The same seed gives the same
// episodes on the same machine. CANCELLED after a stop; any other error names the weights' folder.
absl::StatusOr<SavedEvaluation> EvaluateSaved(const SavedWeights& weights, const SavedEvaluationOptions& options,
                                              const SavedEvaluationPorts& ports, const StopToken& stop);

}  // namespace waggle
