#include "common/nn/flat_parameters.h"

#include <utility>

#include "common/nn/torch_compat.h"

namespace waggle {

absl::StatusOr<FlatParameters> FlatParameters::Create(std::vector<ArraySpec> layout, torch::Device device,
                                                      torch::ScalarType dtype) {
  return CatchTorch("allocating parameters", [&] {
    torch::NoGradGuard no_grad;
    FlatParameters parameters;
    parameters.layout_ = std::move(layout);
    int64_t size = 0;
    for (const ArraySpec& spec : parameters.layout_) {
      size += spec.NumElements();
    }
    const auto options = torch::TensorOptions().device(device).dtype(dtype);
    parameters.values_ = torch::zeros({size}, options);
    parameters.gradients_ = torch::zeros({size}, options);
    int64_t offset = 0;
    for (const ArraySpec& spec : parameters.layout_) {
      const int64_t elements = spec.NumElements();
      parameters.value_views_.push_back(parameters.values_.narrow(0, offset, elements).view(spec.shape));
      parameters.gradient_views_.push_back(parameters.gradients_.narrow(0, offset, elements).view(spec.shape));
      torch::Tensor leaf = parameters.value_views_.back().detach();
      leaf.set_requires_grad(true);
      leaf.mutable_grad() = parameters.gradient_views_.back();
      parameters.leaves_.push_back(std::move(leaf));
      offset += elements;
    }
    return parameters;
  });
}

}  // namespace waggle
