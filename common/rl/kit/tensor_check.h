#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nn/torch.h"

namespace waggle {

// For example "Float[2, 3]"; "nothing" for an undefined tensor.
inline std::string DescribeTensor(const torch::Tensor& tensor) {
  return tensor.defined()
             ? absl::StrCat(torch::toString(tensor.scalar_type()), "[", absl::StrJoin(tensor.sizes(), ", "), "]")
             : "nothing";
}

// Throws a c10::Error with what was got and wanted unless `tensor`, named `what`, has this type and shape: LibTorch
// would silently broadcast [rows] against [rows, 1] to [rows, rows].
inline void CheckTensor(const char* what, const torch::Tensor& tensor, torch::ScalarType type, at::IntArrayRef sizes) {
  TORCH_CHECK(tensor.defined() && tensor.scalar_type() == type && tensor.sizes() == sizes, what, " is ",
              DescribeTensor(tensor), "; wanted ", torch::toString(type), "[", absl::StrJoin(sizes, ", "), "]");
}

// True if the type is exact enough for these computations.
inline bool IsFloat32Or64(const torch::Tensor& tensor) {
  return tensor.defined() && (tensor.scalar_type() == torch::kFloat32 || tensor.scalar_type() == torch::kFloat64);
}

}  // namespace waggle
