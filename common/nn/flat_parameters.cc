#include "common/nn/flat_parameters.h"

#include <utility>

#include "common/nn/torch_compat.h"

namespace waggle {

absl::StatusOr<FlatParameters> FlatParameters::Create(std::vector<ArraySpec> layout, torch::Device device,
                                                      torch::ScalarType dtype, bool learns) {
  return CatchTorch("allocating parameters", [&] {
    torch::NoGradGuard no_grad;
    FlatParameters parameters;
    parameters.layout_ = std::move(layout);
    parameters.offsets_ = {0};
    for (const ArraySpec& spec : parameters.layout_) {
      parameters.offsets_.push_back(parameters.offsets_.back() + spec.NumElements());
    }
    const auto options = torch::TensorOptions().device(device).dtype(dtype);
    parameters.values_ = torch::zeros({parameters.offsets_.back()}, options);
    if (learns) {
      parameters.gradients_ = torch::zeros({parameters.offsets_.back()}, options);
    }
    for (size_t i = 0; i < parameters.layout_.size(); ++i) {
      const int64_t elements = parameters.offsets_[i + 1] - parameters.offsets_[i];
      const auto view = [&](const torch::Tensor& buffer) {
        return buffer.narrow(0, parameters.offsets_[i], elements).view(parameters.layout_[i].shape);
      };
      parameters.value_views_.push_back(view(parameters.values_));
      if (learns) {
        parameters.gradient_views_.push_back(view(parameters.gradients_));
      }
    }
    return parameters;
  });
}

torch::Tensor FlatParameters::Run(int64_t first, int64_t count) const {
  const int64_t begin = offsets_[static_cast<size_t>(first)];
  return values_.narrow(0, begin, offsets_[static_cast<size_t>(first + count)] - begin);
}

torch::Tensor FlatParameters::AddLeaf(int64_t first, int64_t count) {
  torch::NoGradGuard no_grad;
  const torch::Tensor values = Run(first, count);
  return AddLeaf(values, gradients_.narrow(0, offsets_[static_cast<size_t>(first)], values.numel()));
}

torch::Tensor FlatParameters::AddLeaf(int64_t index) {
  torch::NoGradGuard no_grad;
  return AddLeaf(value_views_[static_cast<size_t>(index)], gradient_views_[static_cast<size_t>(index)]);
}

torch::Tensor FlatParameters::AddLeaf(const torch::Tensor& values, const torch::Tensor& gradients) {
  torch::Tensor leaf = values.detach();
  leaf.set_requires_grad(true);
  leaf.mutable_grad() = gradients;
  leaves_.push_back(leaf);
  return leaf;
}

}  // namespace waggle
