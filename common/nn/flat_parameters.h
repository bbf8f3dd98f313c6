#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/nn/torch.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// A network's parameters as views into one contiguous buffer, and their gradients as views into another: a step of the
// optimizer, a copy of the target, a publication or a norm is then one operation on one tensor. Not thread-safe.
class FlatParameters {
 public:
  // All zero. The layout's element types are what travels; `dtype` is what is computed with (float64 in gradient
  // checks). INTERNAL or RESOURCE_EXHAUSTED where the device cannot hold them.
  static absl::StatusOr<FlatParameters> Create(std::vector<ArraySpec> layout, torch::Device device,
                                               torch::ScalarType dtype = torch::kFloat32);

  // Names and shapes, in their order in the buffer.
  const std::vector<ArraySpec>& layout() const { return layout_; }
  int64_t size() const { return values_.numel(); }

  // One-dimensional, contiguous; in no autograd graph.
  const torch::Tensor& values() const { return values_; }
  const torch::Tensor& gradients() const { return gradients_; }

  // The parameters as leaves of autograd; backward() adds to gradients().
  const std::vector<torch::Tensor>& leaves() const { return leaves_; }
  // The same values and their gradients outside of autograd.
  const std::vector<torch::Tensor>& value_views() const { return value_views_; }
  const std::vector<torch::Tensor>& gradient_views() const { return gradient_views_; }

 private:
  FlatParameters() = default;

  std::vector<ArraySpec> layout_;
  torch::Tensor values_;
  torch::Tensor gradients_;
  std::vector<torch::Tensor> leaves_;
  std::vector<torch::Tensor> value_views_;
  std::vector<torch::Tensor> gradient_views_;
};

}  // namespace waggle
