#include "common/rl/acting/exploration_noise.h"

#include <cmath>

#include "common/rl/kit/tensor_check.h"

namespace waggle {

OrnsteinUhlenbeck::OrnsteinUhlenbeck(const OrnsteinUhlenbeckOptions& options, int64_t slots, int64_t dimensions,
                                     torch::Device device)
    : options_(options),
      state_(torch::full({slots, dimensions}, options.initial, torch::dtype(torch::kFloat32).device(device))) {
  TORCH_CHECK(options.deviation >= 0 && options.interval > 0, "deviation is ", options.deviation, " and interval ",
              options.interval, "; wanted at least 0 and a positive number");
}

torch::Tensor OrnsteinUhlenbeck::Step(const torch::Tensor& slots, const torch::Tensor& first, Noise* noise,
                                      const torch::Tensor& scales) {
  torch::NoGradGuard no_grad;
  CheckTensor("slots", slots, torch::kInt64, {slots.numel()});
  CheckTensor("first", first, torch::kBool, slots.sizes());
  torch::Tensor x = state_.index_select(0, slots).masked_fill_(first.unsqueeze(1), options_.initial);
  const torch::Tensor drift = (options_.mean - x) * (options_.rate * options_.interval);
  const torch::Tensor random = noise->NormalLike(x) * (options_.deviation * std::sqrt(options_.interval));
  x += drift + (scales.defined() ? random * scales : random);
  state_.index_copy_(0, slots, x);
  return x;
}

MovingAverage::MovingAverage(int64_t slots, int64_t dimensions, torch::Device device)
    : last_(torch::zeros({slots, dimensions}, torch::dtype(torch::kFloat32).device(device))) {}

torch::Tensor MovingAverage::Step(const torch::Tensor& slots, const torch::Tensor& first, Noise* noise) {
  torch::NoGradGuard no_grad;
  CheckTensor("slots", slots, torch::kInt64, {slots.numel()});
  CheckTensor("first", first, torch::kBool, slots.sizes());
  const torch::Tensor last = last_.index_select(0, slots).masked_fill_(first.unsqueeze(1), 0);
  const torch::Tensor random = noise->NormalLike(last);
  last_.index_copy_(0, slots, random);
  return last + random;
}

}  // namespace waggle
