#pragma once

#include <cstdint>

// Sweeps over a dense layer's outputs on the CPU, because small networks spend more time in starting LibTorch's
// operations than in computing. Without LibTorch, for options of their own. Matrices are [rows, columns], row-major.

namespace waggle {

// values <- values + bias [columns], then at least 0 if `relu`.
void AddBias(const float* bias, bool relu, int64_t rows, int64_t columns, float* values);

// The gradient before a layer's activation: with relu, `gradient` for outputs above 0 and 0 for others; otherwise
// `gradient` itself, and `result` may be null. Adds its sum over rows to `bias_gradient` [columns] unless null.
void BackThroughBias(const float* output, const float* gradient, bool relu, int64_t rows, int64_t columns,
                     float* result, float* bias_gradient);

}  // namespace waggle
