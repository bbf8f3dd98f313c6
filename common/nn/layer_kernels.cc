#include "common/nn/layer_kernels.h"

namespace waggle {

void AddBias(const float* bias, bool relu, int64_t rows, int64_t columns, float* values) {
  for (int64_t row = 0; row < rows; ++row, values += columns) {
    if (relu) {
      for (int64_t i = 0; i < columns; ++i) {
        const float sum = values[i] + bias[i];
        values[i] = sum < 0 ? 0 : sum;  // NaN stays.
      }
    } else {
      for (int64_t i = 0; i < columns; ++i) {
        values[i] += bias[i];
      }
    }
  }
}

void BackThroughBias(const float* output, const float* gradient, bool relu, int64_t rows, int64_t columns,
                     float* result, float* bias_gradient) {
  for (int64_t row = 0; row < rows; ++row, gradient += columns, output += columns) {
    const float* passed = gradient;
    if (relu) {
      for (int64_t i = 0; i < columns; ++i) {
        // Always read: a branch would often be mispredicted, and prevent vectorisation.
        const float value = gradient[i];
        result[i] = output[i] > 0 ? value : 0;
      }
      passed = result;
      result += columns;
    }
    if (bias_gradient != nullptr) {
      for (int64_t i = 0; i < columns; ++i) {
        bias_gradient[i] += passed[i];
      }
    }
  }
}

}  // namespace waggle
