#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "actor/actor_process.h"
#include "actor/environments/environment.h"
#include "actor/environments/pictures/video_options.h"
#include "common/base/metrics/sample_statistics.h"
#include "common/base/threads/stop_token.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/rl/checkpoint/saved_weights.h"

namespace waggle {

// The result of an evaluation of saved weights.
struct SavedEvaluation {
  SavedKind kind = SavedKind::kWeights;
  std::string folder;
  std::string experiment;
  std::string algorithm;
  std::string environment;
  std::optional<uint64_t> epoch;    // The learner's; absent for a learner's checkpoint.
  std::optional<uint64_t> version;  // The learner's step; absent for random actions.
  std::optional<double> env_steps;  // The run's, at publication; absent for a learner's checkpoint.
  bool explored = false;            // True if it explored, as an actor does.
  int64_t seed = 0;
  SampleStatistics returns;
  SampleStatistics lengths;             // In steps.
  double seconds = 0;                   // Spent on the episodes.
  std::optional<std::string> recorded;  // The replay file of the episodes.
  std::optional<std::string> video;     // The folder of the files that show episodes.
};

struct SavedEvaluationOptions {
  int64_t episodes = 100;
  int64_t seed = 0;
  std::string device;  // Empty: the experiment's own.
  std::optional<VideoOptions> video;
  // A new replay file, or minari:FOLDER, for the episodes, which then run in the training environment, unless the
  // experiment is one of self-play. Absent: they run in the evaluation environment and are not saved.
  std::optional<std::string> record;
  bool explore = false;  // Explores as an actor does. Only with `record`.
};

// The evaluation's sources of environments and networks. Pointers are borrowed and never null.
struct SavedEvaluationPorts {
  const EnvironmentDefinitions* environments = nullptr;
  const AlgorithmDefinitions* algorithms = nullptr;
  std::function<absl::StatusOr<std::unique_ptr<Policy>>(const PolicyRequest& request)> new_policy;
  // The acting weights in a learner's state. FAILED_PRECONDITION if the state is of another experiment than the
  // request's.
  std::function<absl::StatusOr<ModelSnapshot>(const CheckpointContents& learner, const PolicyRequest& request)>
      learner_weights;
};

// Runs greedy episodes with the weights, or episodes of random actions if there are none. The same seed gives the same
// episodes on the same machine. CANCELLED after a stop; any other error names the weights' folder.
absl::StatusOr<SavedEvaluation> EvaluateSaved(const SavedWeights& weights, const SavedEvaluationOptions& options,
                                              const SavedEvaluationPorts& ports, const StopToken& stop);

}  // namespace waggle
