#pragma once

#include <memory>
#include <string>

#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"

namespace waggle {

// The model ports over gRPC, to the parameter server. Connects at the first call and again after a loss. Checks the
// server's answers (sizes, checksum, a newer version): DATA_LOSS if one is wrong.
std::unique_ptr<ModelPublisher> NewGrpcModelPublisher(const RunAddress& run);

// A model that was never published is not an error: nothing is newer. The server keeps the last weights that `holder`
// (an evaluator's worker_id; empty: none) has pulled.
std::unique_ptr<ModelSubscriber> NewGrpcModelSubscriber(const RunAddress& run, const std::string& model,
                                                        const std::string& holder = "");

}  // namespace waggle
