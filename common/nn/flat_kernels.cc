#include "common/nn/flat_kernels.h"

#include <algorithm>
#include <cmath>

#include "common/nn/vector_clones.h"

namespace waggle {
namespace {

// Eight partial sums, so that additions do not wait for each other.
template <class T>
WAGGLE_INLINE double SumOfSquaresIn(const T* values, int64_t count) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) {
      const double value = static_cast<double>(values[i + lane]);
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    sums[0] += value * value;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <bool kAmsgrad, class T>
WAGGLE_INLINE void AdamIn(const AdamStep& step, T* __restrict__ values, const T* __restrict__ gradients,
                          T* __restrict__ means, T* __restrict__ squares, T* __restrict__ largest, int64_t count) {
  const T gradient_scale = static_cast<T>(step.gradient_scale);
  const T weight_decay = static_cast<T>(step.weight_decay);
  const T value_scale = static_cast<T>(step.value_scale);
  const T beta1 = static_cast<T>(step.beta1);
  const T beta2 = static_cast<T>(step.beta2);
  const T rest1 = static_cast<T>(1 - step.beta1);
  const T rest2 = static_cast<T>(1 - step.beta2);
  const T step_size = static_cast<T>(step.step_size);
  const T root_correction = static_cast<T>(step.root_correction);
  const T epsilon = static_cast<T>(step.epsilon);
  for (int64_t i = 0; i < count; ++i) {
    const T gradient = gradients[i] * gradient_scale + weight_decay * values[i];
    const T mean = beta1 * means[i] + rest1 * gradient;
    const T square = beta2 * squares[i] + rest2 * gradient * gradient;
    T divisor = square;
    if constexpr (kAmsgrad) {
      divisor = std::max(largest[i], square);
      largest[i] = divisor;
    }
    means[i] = mean;
    squares[i] = square;
    values[i] = values[i] * value_scale - step_size * mean / (std::sqrt(divisor) * root_correction + epsilon);
  }
}

template <bool kCentered, class T>
WAGGLE_INLINE void RmsPropIn(const RmsPropStep& step, T* __restrict__ values, const T* __restrict__ gradients,
                             T* __restrict__ momenta, T* __restrict__ squares, T* __restrict__ means, int64_t count) {
  const T gradient_scale = static_cast<T>(step.gradient_scale);
  const T weight_decay = static_cast<T>(step.weight_decay);
  const T alpha = static_cast<T>(step.alpha);
  const T rest = static_cast<T>(1 - step.alpha);
  const T momentum = static_cast<T>(step.momentum);
  const T learning_rate = static_cast<T>(step.learning_rate);
  const T epsilon = static_cast<T>(step.epsilon);
  for (int64_t i = 0; i < count; ++i) {
    const T gradient = gradients[i] * gradient_scale + weight_decay * values[i];
    const T square = alpha * squares[i] + rest * gradient * gradient;
    T divisor = square;
    if constexpr (kCentered) {
      const T mean = alpha * means[i] + rest * gradient;
      means[i] = mean;
      // Rounding may make a variance of almost 0 negative.
      divisor = std::max(square - mean * mean, T{0});
    }
    const T update = momentum * momenta[i] + gradient / (std::sqrt(divisor) + epsilon);
    squares[i] = square;
    momenta[i] = update;
    values[i] -= learning_rate * update;
  }
}

template <class T>
WAGGLE_INLINE void SgdIn(const SgdStep& step, T* __restrict__ values, const T* __restrict__ gradients,
                         T* __restrict__ momenta, int64_t count) {
  const T gradient_scale = static_cast<T>(step.gradient_scale);
  const T weight_decay = static_cast<T>(step.weight_decay);
  const T momentum = static_cast<T>(step.momentum);
  const T learning_rate = static_cast<T>(step.learning_rate);
  for (int64_t i = 0; i < count; ++i) {
    const T update = momentum * momenta[i] + (gradients[i] * gradient_scale + weight_decay * values[i]);
    momenta[i] = update;
    values[i] -= learning_rate * update;
  }
}

}  // namespace

WAGGLE_VECTOR_CLONES double SumOfSquares(const float* values, int64_t count) {
  return SumOfSquaresIn(values, count);
}
WAGGLE_VECTOR_CLONES double SumOfSquares(const double* values, int64_t count) {
  return SumOfSquaresIn(values, count);
}

WAGGLE_VECTOR_CLONES void AddScaled(const float* __restrict__ values, float scale, float* __restrict__ sum,
                                    int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    sum[i] += scale * values[i];
  }
}

WAGGLE_VECTOR_CLONES void ApplyAdam(const AdamStep& step, float* values, const float* gradients, float* means,
                                    float* squares, float* largest, int64_t count) {
  if (largest == nullptr) {
    AdamIn<false>(step, values, gradients, means, squares, largest, count);
  } else {
    AdamIn<true>(step, values, gradients, means, squares, largest, count);
  }
}
WAGGLE_VECTOR_CLONES void ApplyAdam(const AdamStep& step, double* values, const double* gradients, double* means,
                                    double* squares, double* largest, int64_t count) {
  if (largest == nullptr) {
    AdamIn<false>(step, values, gradients, means, squares, largest, count);
  } else {
    AdamIn<true>(step, values, gradients, means, squares, largest, count);
  }
}

WAGGLE_VECTOR_CLONES void ApplyRmsProp(const RmsPropStep& step, float* values, const float* gradients, float* momenta,
                                       float* squares, float* means, int64_t count) {
  if (means == nullptr) {
    RmsPropIn<false>(step, values, gradients, momenta, squares, means, count);
  } else {
    RmsPropIn<true>(step, values, gradients, momenta, squares, means, count);
  }
}
WAGGLE_VECTOR_CLONES void ApplyRmsProp(const RmsPropStep& step, double* values, const double* gradients,
                                       double* momenta, double* squares, double* means, int64_t count) {
  if (means == nullptr) {
    RmsPropIn<false>(step, values, gradients, momenta, squares, means, count);
  } else {
    RmsPropIn<true>(step, values, gradients, momenta, squares, means, count);
  }
}

WAGGLE_VECTOR_CLONES void ApplySgd(const SgdStep& step, float* values, const float* gradients, float* momenta,
                                   int64_t count) {
  SgdIn(step, values, gradients, momenta, count);
}
WAGGLE_VECTOR_CLONES void ApplySgd(const SgdStep& step, double* values, const double* gradients, double* momenta,
                                   int64_t count) {
  SgdIn(step, values, gradients, momenta, count);
}

}  // namespace waggle
