#include "common/rl/kit/running_statistics.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/rl/kit/tensor_check.h"

namespace waggle {

RunningStatistics::RunningStatistics(std::vector<int64_t> shape, torch::Device device, NormalizerSpec average)
    : shape_(std::move(shape)), average_(std::move(average)) {
  const int64_t elements = std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
  state_ = torch::zeros({1 + 2 * elements}, torch::dtype(torch::kFloat64).device(device));
  weight_ = state_.select(0, 0);
  mean_ = state_.narrow(0, 1, elements).view(shape_);
  squares_ = state_.narrow(0, 1 + elements, elements).view(shape_);
  if (average_.average == "window") {
    window_ = torch::zeros({average_.window, state_.size(0)}, state_.options());
  }
  Derive();
}

void RunningStatistics::Update(const torch::Tensor& batch) {
  torch::NoGradGuard no_grad;
  CheckShape(batch);
  TORCH_CHECK(batch.dim() == static_cast<int64_t>(shape_.size()) + 1, "a batch is ", batch.sizes(),
              "; wanted one dimension, rows, before [", absl::StrJoin(shape_, ", "), "]");
  if (batch.size(0) == 0) {
    return;
  }
  const torch::Tensor rows = batch.to(torch::kFloat64);
  const double count = static_cast<double>(rows.size(0));
  if (average_.average == "window") {
    state_.zero_();  // Values that are not finite leave with their batch.
    Add(rows, 0);
    window_.select(0, next_).copy_(state_);
    next_ = (next_ + 1) % average_.window;
    AddUpWindow();
  } else if (average_.average == "exponential") {
    Add(rows, count * (1 - average_.rate) / average_.rate);
  } else if (average_.average == "adaptive") {
    Add(rows, rows_ / average_.speed);
    rows_ += count;
  } else {
    Add(rows, std::numeric_limits<double>::infinity());
  }
  Derive();
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
void RunningStatistics::Add(const torch::Tensor& rows, double most_before) {
  const double count = static_cast<double>(rows.size(0));
  const torch::Tensor batch_mean = rows.mean(0);
  const torch::Tensor batch_squares = (rows - batch_mean).square().sum(0);
  const torch::Tensor difference = batch_mean - mean_;
  torch::Tensor before = weight_;
  if (std::isfinite(most_before)) {
    before = weight_.clamp_max(most_before);
    squares_.mul_(torch::where(weight_ > 0, before / weight_, torch::zeros_like(weight_)));
  }
  const torch::Tensor share = count / (before + count);
  mean_.add_(difference * share);
  squares_.add_(batch_squares).add_(difference.square() * (before * share));
  weight_.copy_(before + count);
}

void RunningStatistics::AddUpWindow() {
  const int64_t elements = (state_.size(0) - 1) / 2;
  const torch::Tensor weights = window_.narrow(1, 0, 1);
  const torch::Tensor means = window_.narrow(1, 1, elements);
  const torch::Tensor weight = weights.sum();
  const torch::Tensor mean = (weights * means).sum(0) / weight;
  weight_.copy_(weight);
  mean_.copy_(mean.view(shape_));
  squares_.copy_((window_.narrow(1, 1 + elements, elements) + weights * (means - mean).square()).sum(0).view(shape_));
}

torch::Tensor RunningStatistics::Normalize(const torch::Tensor& x, double clip) const {
  TORCH_CHECK(clip > 0, "clip is ", clip, "; wanted a positive number");
  CheckShape(x);
  const torch::ScalarType type = x.is_floating_point() ? x.scalar_type() : torch::kFloat32;
  return ((x.to(type) - mean_.to(type)) / deviation_.to(type)).clamp(-clip, clip);
}

torch::Tensor RunningStatistics::Scale(const torch::Tensor& x) const {
  CheckShape(x);
  const torch::ScalarType type = x.is_floating_point() ? x.scalar_type() : torch::kFloat32;
  return x.to(type) / deviation_.to(type);
}

void RunningStatistics::Load(const torch::Tensor& state) {
  torch::NoGradGuard no_grad;
  CheckTensor("the state of statistics", state, torch::kFloat64, state_.sizes());
  state_.copy_(state);
  if (average_.average == "window") {
    window_.zero_();
    window_.select(0, 0).copy_(state_);
    next_ = 1 % average_.window;
  } else if (average_.average == "adaptive") {
    rows_ = average_.speed * weight_.item<double>();
  }
  Derive();
}

void RunningStatistics::VisitState(StateVisitor* visitor) {
  visitor->Tensor("statistics", &state_);
  if (average_.average == "window") {
    visitor->Tensor("window", &window_);
    visitor->Int("next", &next_);
  } else if (average_.average == "adaptive") {
    visitor->Double("rows", &rows_);
  }
  if (visitor->Loading()) {
    Derive();
  }
}

void RunningStatistics::CheckShape(const torch::Tensor& x) const {
  TORCH_CHECK(x.dim() >= static_cast<int64_t>(shape_.size()) &&
                  x.sizes().slice(static_cast<size_t>(x.dim()) - shape_.size()) == at::IntArrayRef(shape_),
              "got values of shape ", x.sizes(), "; wanted [..., ", absl::StrJoin(shape_, ", "), "]");
}

void RunningStatistics::Derive() {
  // A weight of 0 has no variance: the NaN quotient is not selected.
  variance_ = torch::where(weight_ > 0, squares_ / weight_, torch::ones({}, state_.options()));
  deviation_ = (variance_ + 1e-8).sqrt();
}

}  // namespace waggle
