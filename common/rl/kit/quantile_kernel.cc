#include "common/rl/kit/quantile_kernel.h"

#include <algorithm>

#include "common/nn/vector_clones.h"

namespace waggle {
namespace {

constexpr int64_t kLanes = 16;  // Quantiles whose sums stay in registers.

// `kHuber`: the threshold is above 0.
template <bool kHuber>
WAGGLE_INLINE float QuantileHuberIn(const float* quantiles, const float* fractions, int64_t num_quantiles,
                                    const float* targets, int64_t num_targets, float threshold, float* gradient) {
  const float scale = 1 / ((kHuber ? threshold : 1.0F) * static_cast<float>(num_targets));
  float sum = 0;
  for (int64_t begin = 0; begin < num_quantiles; begin += kLanes) {
    const int64_t lanes = std::min(kLanes, num_quantiles - begin);
    float quantile[kLanes] = {};
    float above[kLanes] = {};  // The weights of targets above and below.
    float below[kLanes] = {};
    float slope[kLanes] = {};
    float loss[kLanes] = {};
    for (int64_t i = 0; i < lanes; ++i) {
      quantile[i] = quantiles[begin + i];
      above[i] = fractions[begin + i];
      below[i] = 1 - fractions[begin + i];
    }
    for (int64_t target = 0; target < num_targets; ++target) {
      for (int64_t i = 0; i < kLanes; ++i) {
        const float error = targets[target] - quantile[i];
        const float weight = error < 0 ? below[i] : above[i];
        if constexpr (kHuber) {
          const float bounded = error > threshold ? threshold : error < -threshold ? -threshold : error;  // NaN stays.
          slope[i] += weight * bounded;
          loss[i] += weight * bounded * (error - 0.5F * bounded);
        } else {
          const float sign = error > 0 ? 1 : error < 0 ? -1 : error;
          slope[i] += weight * sign;
          loss[i] += weight * sign * error;
        }
      }
    }
    for (int64_t i = 0; i < lanes; ++i) {
      gradient[begin + i] = -slope[i] * scale;
      sum += loss[i] * scale;
    }
  }
  return sum;
}

}  // namespace

WAGGLE_VECTOR_CLONES float QuantileHuber(const float* quantiles, const float* fractions, int64_t num_quantiles,
                                         const float* targets, int64_t num_targets, float threshold, float* gradient) {
  return threshold > 0
             ? QuantileHuberIn<true>(quantiles, fractions, num_quantiles, targets, num_targets, threshold, gradient)
             : QuantileHuberIn<false>(quantiles, fractions, num_quantiles, targets, num_targets, threshold, gradient);
}

}  // namespace waggle
