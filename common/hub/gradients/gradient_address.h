#pragma once

#include <cstdint>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

// The address for a worker's gradients. With `reducers`, the known reducer of the worker's index, and the next one
// after each failed attempt. Otherwise the primary's. Empty while unknown.
std::string GradientAddress(const Assignment& assignment, int64_t reducers, int64_t failed);

}  // namespace waggle
