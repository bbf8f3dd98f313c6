#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"
#include "common/rl/checkpoint/saved_weights.h"

namespace waggle {

// Writes the greedy policy of saved weights to `output` as an ONNX file, in place of an older one, and returns a line
// that says so: docs/export.md. An environment that is not built in is opened for a moment, because its spaces are not
// saved. `result_json` is the weights' result as summary.json has it, or empty. Blocks on the disk. INVALID_ARGUMENT,
// FAILED_PRECONDITION or NOT_FOUND, with the cause, if the weights or their policy cannot be exported; CANCELLED after
// a stop.
absl::StatusOr<std::string> ExportPolicy(const SavedWeights& weights, const std::string& result_json,
                                         const std::string& output, const StopToken& stop);

// The same for a path as `waggle evaluate` takes: see LoadTrainedWeights. The result is that of the run's summary.json.
// `output` may be empty: policy.onnx in the run's folder, or, for a folder of weights or checkpoints, in the working
// folder.
absl::StatusOr<std::string> ExportSavedPolicy(const std::string& path, bool newest, const std::string& output,
                                              const StopToken& stop);

}  // namespace waggle
