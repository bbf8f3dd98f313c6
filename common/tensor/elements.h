#pragma once

#include <cstdint>
#include <string>

#include "common/tensor/dtype.h"

namespace waggle {

// Element `index` of an array at `data` (any alignment), as a number; integers past 2^53 are rounded.
double ElementAsDouble(DType dtype, const void* data, int64_t index);

// The same as text that reads back as just that element: "true", "-7", "0.1".
std::string ElementText(DType dtype, const void* data, int64_t index);

}  // namespace waggle
