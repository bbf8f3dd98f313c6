#pragma once

#include <memory>
#include <string>

#include "common/api/hub.h"
#include "common/api/model.h"

namespace waggle {

// The model ports over gRPC, to the parameter server, for one experiment. Connects when first used, again after a
// loss. What the server sends is checked (sizes, checksum, and that the version is newer) before it is handed on;
// DATA_LOSS where it does not hold.
std::unique_ptr<ModelPublisher> NewGrpcModelPublisher(const RunAddress& run);

// Of one model. A model that nobody has published is no error: there is nothing newer yet. The server keeps what was
// pulled last for `holder` (an evaluator's worker_id), where one is named.
std::unique_ptr<ModelSubscriber> NewGrpcModelSubscriber(const RunAddress& run, const std::string& model,
                                                        const std::string& holder = "");

}  // namespace waggle
