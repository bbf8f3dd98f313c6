#pragma once

#include <cstdint>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

// The address that a worker pushes its gradients to. With `reducers` a known reducer, which follows from the worker's
// index, and after each failed attempt the next one; without any the primary. Empty while it is not known.
std::string GradientAddress(const Assignment& assignment, int64_t reducers, int64_t failed);

}  // namespace waggle
