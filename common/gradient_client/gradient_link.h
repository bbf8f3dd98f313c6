#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/api/gradients.h"

namespace waggle {

// A taker that hands gradients for an experiment over gRPC to a primary or a reducer, which it looks for until the link
// is destroyed.
// `address` says where it is, HOST:PORT, or "" while that is not known; it is asked before each attempt to connect,
// with the number of attempts that have failed since the last answer, from a thread of the link's. What is not answered
// when a connection breaks is sent again, in its order. Destroying the link drops what is not answered.
std::unique_ptr<GradientTaker> NewGradientLink(std::string experiment_id,
                                               std::function<std::string(int64_t failed)> address);

}  // namespace waggle
