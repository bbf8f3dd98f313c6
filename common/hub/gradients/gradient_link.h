#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/hub/ports/gradients.h"

namespace waggle {

// Sends an experiment's gradients over gRPC to a primary or a reducer. Before each attempt to connect, a thread of the
// link calls `address` with the number of attempts that have failed since the last answer. It returns HOST:PORT, or ""
// if unknown. After a lost connection, unanswered gradients are sent again in order. The destructor drops them.
std::unique_ptr<GradientTaker> NewGradientLink(std::string experiment_id,
                                               std::function<std::string(int64_t failed)> address);

}  // namespace waggle
