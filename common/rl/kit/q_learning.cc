#include "common/rl/kit/q_learning.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/nn/closed_form.h"
#include "common/rl/kit/best_choice.h"

namespace waggle {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A contiguous float32 tensor on the CPU.
bool IsPlain(const torch::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == torch::kFloat32 && tensor.is_contiguous();
}

// A loss and its gradient by q.
struct Loss {
  torch::Tensor loss, errors, q_mean, q_gradient;
};

torch::Tensor SweepTargets(const torch::Tensor& rewards, const torch::Tensor& bootstrap, const torch::Tensor& selector,
                           const torch::Tensor& values) {
  const int64_t rows = selector.size(0);
  const int64_t actions = selector.size(1);
  torch::Tensor targets = torch::empty({rows}, torch::kFloat32);
  const float* reward = rewards.data_ptr<float>();
  const float* weight = bootstrap.data_ptr<float>();
  const float* select = selector.data_ptr<float>();
  const float* value = values.data_ptr<float>();
  float* target = targets.data_ptr<float>();
  for (int64_t row = 0; row < rows; ++row, select += actions, value += actions) {
    const int64_t best = BestChoice(select, actions);
    target[row] = weight[row] == 0 ? reward[row] : reward[row] + weight[row] * value[best];
  }
  return targets;
}

Loss SweepLoss(TdLoss loss, const torch::Tensor& q, const torch::Tensor& actions, const torch::Tensor& targets,
               const torch::Tensor& weights) {
  const int64_t rows = q.size(0);
  const int64_t choices = q.size(1);
  Loss result;
  result.errors = torch::empty({rows}, torch::kFloat32);
  result.q_gradient = torch::zeros({rows, choices}, torch::kFloat32);
  const float* values = q.data_ptr<float>();
  const int64_t* action = actions.data_ptr<int64_t>();
  const float* target = targets.data_ptr<float>();
  const float* weight = weights.data_ptr<float>();
  float* error = result.errors.data_ptr<float>();
  float* gradient = result.q_gradient.data_ptr<float>();
  const float share = 1 / static_cast<float>(rows);
  double loss_sum = 0;
  double q_sum = 0;
  for (int64_t row = 0; row < rows; ++row, values += choices, gradient += choices) {
    const bool known = action[row] >= 0 && action[row] < choices;
    const float value = known ? values[action[row]] : kNaN;
    const float difference = value - target[row];
    const float size = std::abs(difference);
    const bool linear = loss == TdLoss::kHuber && size >= 1;
    const float row_loss = linear                   ? size - 0.5F
                           : loss == TdLoss::kHuber ? 0.5F * difference * difference
                                                    : difference * difference;
    const float slope = linear ? std::copysign(1.0F, difference) : loss == TdLoss::kHuber ? difference : 2 * difference;
    loss_sum += static_cast<double>(weight[row] * row_loss);
    q_sum += static_cast<double>(value);
    error[row] = size;
    gradient[known ? action[row] : 0] = weight[row] * slope * share;
  }
  result.loss = torch::full({}, loss_sum / static_cast<double>(rows), torch::kFloat32);
  result.q_mean = torch::full({}, q_sum / static_cast<double>(rows), torch::kFloat32);
  if (!std::isfinite(loss_sum)) {
    result.q_gradient.fill_(kNaN);
  }
  return result;
}

Loss OperatorLoss(TdLoss loss, const torch::Tensor& q, const torch::Tensor& actions, const torch::Tensor& targets,
                  const torch::Tensor& weights) {
  const torch::Tensor index = actions.clamp(0, q.size(1) - 1);
  const torch::Tensor value = ValuesOfChoices(q, actions);
  const torch::Tensor difference = value - targets;
  Loss result;
  result.errors = difference.abs();
  torch::Tensor row_loss = difference.square();
  torch::Tensor slope = difference * 2;
  if (loss == TdLoss::kHuber) {
    row_loss = torch::where(result.errors < 1, row_loss * 0.5, result.errors - 0.5);
    slope = difference.clamp(-1, 1);
  }
  result.loss = (weights * row_loss).mean();
  result.q_mean = value.mean();
  const torch::Tensor row_gradient = weights * slope * (1.0 / static_cast<double>(q.size(0)));
  result.q_gradient =
      torch::zeros_like(q).scatter_(1, index.unsqueeze(1), row_gradient.to(q.scalar_type()).unsqueeze(1));
  // Does not wait for the device: a loss that is not finite makes all gradients so, and the stepper refuses those.
  result.q_gradient = result.q_gradient.masked_fill(torch::isfinite(result.loss).logical_not(), kNaN);
  return result;
}

}  // namespace

torch::Tensor ValuesOfChoices(const torch::Tensor& values, const torch::Tensor& choices) {
  // An index out of bounds ends a process with a CUDA device.
  const int64_t last = values.size(-1) - 1;
  const torch::Tensor gathered = values.gather(-1, choices.clamp(0, last).unsqueeze(-1)).squeeze(-1);
  return gathered.masked_fill((choices < 0).logical_or_(choices > last), kNaN);
}

torch::Tensor ValuesOfBest(const torch::Tensor& values, const torch::Tensor& selector) {
  return values.gather(-1, selector.argmax(-1, /*keepdim=*/true)).squeeze(-1);
}

torch::Tensor QLearningTargets(const torch::Tensor& rewards, const torch::Tensor& bootstrap,
                               const torch::Tensor& selector, const torch::Tensor& values) {
  const torch::NoGradGuard no_grad;
  if (IsPlain(rewards) && IsPlain(bootstrap) && IsPlain(selector) && IsPlain(values)) {
    return SweepTargets(rewards, bootstrap, selector, values);
  }
  const torch::Tensor best = ValuesOfBest(values, selector);
  return rewards + torch::where(bootstrap == 0, torch::zeros_like(best), bootstrap * best);
}

QLearningLossResult QLearningLoss(TdLoss loss, const torch::Tensor& q, const torch::Tensor& actions,
                                  const torch::Tensor& targets, const torch::Tensor& weights) {
  Loss result;
  {
    const torch::NoGradGuard no_grad;
    const bool plain = IsPlain(q) && IsPlain(targets) && IsPlain(weights) && actions.is_contiguous();
    result = plain ? SweepLoss(loss, q, actions, targets, weights)
                   : OperatorLoss(loss, q.detach(), actions, targets, weights);
  }
  return {WithGradient(result.loss, q, result.q_gradient), result.errors, result.q_mean};
}

}  // namespace waggle
