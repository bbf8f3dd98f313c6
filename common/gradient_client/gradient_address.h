#pragma once

#include <cstdint>
#include <string>

#include "common/api/hub.h"

namespace waggle {

// Where a worker pushes its gradients: with `reducers` to one of them, which follows from the worker's index, and after
// each failed attempt to the next that is known; without any to the primary. Empty while that is not known.
std::string GradientAddress(const Assignment& assignment, int64_t reducers, int64_t failed);

}  // namespace waggle
