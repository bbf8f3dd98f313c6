#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/hub/ports/gradients.h"

namespace waggle {

// A taker that hands an experiment's gradients over gRPC to a primary or a reducer. It looks for that until the link is
// destroyed. `address` returns HOST:PORT, or "" while that is not known; a thread of the link's calls it before each
// attempt to connect, with the number of attempts that have failed since the last answer. If a connection breaks,
// gradients without an answer are sent again, in their order. Destroying the link drops them.
std::unique_ptr<GradientTaker> NewGradientLink(std::string experiment_id,
                                               std::function<std::string(int64_t failed)> address);

}  // namespace waggle
