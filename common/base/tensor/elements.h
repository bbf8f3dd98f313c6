#pragma once

#include <cstdint>
#include <string>

#include "common/base/tensor/dtype.h"

namespace waggle {

// Element `index` of an array at `data` (any alignment), as a number; integers past 2^53 are rounded.
double ElementAsDouble(DType dtype, const void* data, int64_t index);

// Writes `value` as an element at `to` (any alignment): cut to an integer for an integer type, which must be able to
// hold it. The types of 16 bits are written as bits of zero.
void StoreElement(DType dtype, double value, void* to);

// An element as text that reads back as just that element: "true", "-7", "0.1".
std::string ElementText(DType dtype, const void* data, int64_t index);

}  // namespace waggle
