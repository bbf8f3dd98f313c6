#pragma once

#include <cstdint>

// Passes over the rows of a dense layer's outputs in the CPU's memory, each in one sweep instead of several operations
// of LibTorch: small networks spend more time in starting these than in computing. Free of LibTorch, so that they can
// be compiled with options of their own. Matrices are row-major, [rows, columns].

namespace waggle {

// values <- values + bias [columns], and at least 0 if `relu` is set.
void AddBias(const float* bias, bool relu, int64_t rows, int64_t columns, float* values);

// The gradient by a layer's outputs before its activation: `gradient` itself without relu; with relu `gradient` for
// outputs above 0, and 0 for others. Adds its sum over the rows to `bias_gradient` [columns] unless that is null.
// `result` may be null without relu: the gradient is the result then.
void BackThroughBias(const float* output, const float* gradient, bool relu, int64_t rows, int64_t columns,
                     float* result, float* bias_gradient);

}  // namespace waggle
