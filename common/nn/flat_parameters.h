#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/tensor/array_spec.h"
#include "common/nn/torch.h"

namespace waggle {

// A network's parameters as views of one contiguous buffer, and their gradients as views of another, so that steps,
// copies and norms are one operation. Not thread-safe.
class FlatParameters {
 public:
  // All zero. The layout has the types of published weights; `dtype` is that of computations (float64 in gradient
  // checks). Without `learns`, for acting and targets, there are no gradients. INTERNAL or RESOURCE_EXHAUSTED if the
  // device cannot hold them.
  static absl::StatusOr<FlatParameters> Create(std::vector<ArraySpec> layout, torch::Device device,
                                               torch::ScalarType dtype = torch::kFloat32, bool learns = true);

  // Names and shapes, in their order in the buffer.
  const std::vector<ArraySpec>& layout() const { return layout_; }
  int64_t size() const { return values_.numel(); }

  // One-dimensional, contiguous, in no graph. Gradients are undefined without `learns`.
  const torch::Tensor& values() const { return values_; }
  const torch::Tensor& gradients() const { return gradients_; }
  // The same by parameter.
  const std::vector<torch::Tensor>& value_views() const { return value_views_; }
  const std::vector<torch::Tensor>& gradient_views() const { return gradient_views_; }

  // The values of `count` parameters from `first` on, flat.
  torch::Tensor Run(int64_t first, int64_t count) const;

  // A leaf of autograd over these values: backward() adds to gradients(). A parameter must be in only one leaf. May
  // throw as LibTorch does.
  torch::Tensor AddLeaf(int64_t first, int64_t count);
  // A leaf of one parameter, in its shape.
  torch::Tensor AddLeaf(int64_t index);
  const std::vector<torch::Tensor>& leaves() const { return leaves_; }

 private:
  FlatParameters() = default;

  torch::Tensor AddLeaf(const torch::Tensor& values, const torch::Tensor& gradients);

  std::vector<ArraySpec> layout_;
  std::vector<int64_t> offsets_;  // One more than there are parameters.
  torch::Tensor values_;
  torch::Tensor gradients_;
  std::vector<torch::Tensor> leaves_;
  std::vector<torch::Tensor> value_views_;
  std::vector<torch::Tensor> gradient_views_;
};

}  // namespace waggle
