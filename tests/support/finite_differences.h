#pragma once

#include <cstdint>

#include "common/nn/torch.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Checks that `gradients` are the central differences of `loss()`, a double, by each element of `values`. `values` are
// contiguous float64 that `loss` reads; they are restored in the end.
template <class Loss>
void CheckFiniteDifferences(const torch::Tensor& values, const torch::Tensor& gradients, const Loss& loss,
                            double margin = 1e-6) {
  constexpr double kStep = 1e-6;
  const torch::NoGradGuard no_grad;
  auto* const value = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const double before = value[i];
    value[i] = before + kStep;
    const double above = loss();
    value[i] = before - kStep;
    const double below = loss();
    value[i] = before;
    CHECK((above - below) / (2 * kStep) == Approx(gradients.flatten()[i].item<double>()).margin(margin));
  }
}

}  // namespace waggle::testing
