#include "common/rl/kit/noise.h"

#include <limits>
#include <mutex>

namespace waggle {
namespace {

torch::Generator NewGenerator(uint64_t seed, torch::Device device) {
  torch::Generator shared = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(shared.mutex());
  torch::Generator generator = shared.clone();
  // LibTorch's CPU generator only uses the lower half of a seed.
  generator.set_current_seed(seed ^ (seed >> 32));
  return generator;
}

}  // namespace

Noise::Noise(uint64_t seed, torch::Device device) : device_(device), generator_(NewGenerator(seed, device)) {}

torch::Tensor Noise::NormalLike(const torch::Tensor& like) {
  return torch::randn(like.sizes(), generator_, torch::dtype(like.scalar_type()).device(device_));
}

torch::Tensor Noise::UniformLike(const torch::Tensor& like) {
  return torch::rand(like.sizes(), generator_, torch::dtype(like.scalar_type()).device(device_));
}

torch::Tensor Noise::Categorical(const torch::Tensor& probabilities) {
  torch::NoGradGuard no_grad;
  TORCH_CHECK(probabilities.dim() > 0 && probabilities.size(-1) > 0, "Noise::Categorical: probabilities are ",
              probabilities.sizes(), "; wanted [..., choices]");
  // The first of exponential times, each divided by a probability, is a choice's with its probability. float64, because
  // coarse float32 numbers, as on some devices, draw unlikely choices far too often. Above 0, because 0 / 0 would win.
  torch::Tensor times = torch::empty(probabilities.sizes(), torch::dtype(torch::kFloat64).device(device_));
  times.exponential_(1, generator_).clamp_min_(std::numeric_limits<double>::min());
  return (probabilities / times).argmax(-1);
}

torch::Tensor Noise::Permutation(int64_t n) {
  return torch::randperm(n, generator_, torch::dtype(torch::kInt64).device(device_));
}

void Noise::VisitState(StateVisitor* visitor) {
  torch::Tensor state = generator_.get_state();
  visitor->Tensor("generator", &state);
  if (visitor->Loading()) {
    generator_.set_state(state);
  }
}

}  // namespace waggle
