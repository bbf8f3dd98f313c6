#pragma once

#include <memory>
#include <string>

#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"

namespace waggle {

// The model ports over gRPC, to the parameter server, for one experiment. Connects when first used, again after a loss.
// The server's answers are checked (sizes, checksum, and that the version is newer) before they are handed on;
// DATA_LOSS if a check fails.
std::unique_ptr<ModelPublisher> NewGrpcModelPublisher(const RunAddress& run);

// For one model. A model that was never published is not an error: there is nothing newer yet. The server keeps the
// weights last pulled for `holder` (an evaluator's worker_id), if one is named.
std::unique_ptr<ModelSubscriber> NewGrpcModelSubscriber(const RunAddress& run, const std::string& model,
                                                        const std::string& holder = "");

}  // namespace waggle
