#include "param_server/gradients/gradient_sum.h"

#include <algorithm>

#include "common/nn/flat_kernels.h"

namespace waggle {
namespace {

// Elements of a part of the sum, which stays in the nearest cache: each gradient is read once, the sum written once.
constexpr int64_t kBlock = 4096;

}  // namespace

void SumGradients(const std::vector<ScaledGradient>& gradients, int64_t count, float* sum) {
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    std::fill_n(sum + begin, size, 0.0F);
    for (const ScaledGradient& gradient : gradients) {
      AddScaled(gradient.data + begin, gradient.scale, sum + begin, size);
    }
  }
}

}  // namespace waggle
