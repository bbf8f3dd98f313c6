#pragma once

#include "common/nn/torch.h"
#include "common/nn/torch_compat.h"
#include "common/tensor/array_spec.h"

namespace waggle::testing {

// Random observations, [rows, …]; the same for the same seed.
inline torch::Tensor RandomObservations(const ArraySpec& spec, int64_t rows, uint64_t seed) {
  torch::manual_seed(seed);
  std::vector<int64_t> shape = spec.shape;
  shape.insert(shape.begin(), rows);
  if (spec.dtype == DType::kUint8) {
    return torch::randint(0, 256, shape, torch::kUInt8);
  }
  return torch::randn(shape).to(ToScalarType(spec.dtype));
}

}  // namespace waggle::testing
