#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// `waggle card` for a run's folder: makes a folder with README.md, a model card, and all that the card speaks of:
// experiment.yaml, summary.json, the best weights, policy.onnx if the policy can be exported, curves.png if the run has
// it, and films if `flags` ask for them (the executable waggle-actor in `binary_folder` films). Returns lines that say
// what was written. An earlier card's folder is replaced.
//
// NOT_FOUND or INVALID_ARGUMENT if `run` is no folder of a run with a result; FAILED_PRECONDITION if the run has not
// ended or has no result; ALREADY_EXISTS if the folder has other content; CANCELLED after a stop.
absl::StatusOr<std::string> WriteCard(const std::string& run, const std::string& folder, const CardFlags& flags,
                                      const std::string& binary_folder, const StopToken& stop);

}  // namespace waggle
