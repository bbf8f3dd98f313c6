#pragma once

#include "common/nn/torch.h"

// Q-learning of tensors: a sweep over memory for float32 on the CPU, else operators. May throw as LibTorch does.

namespace waggle {

enum class TdLoss { kHuber, kMse };

// values[..., choice] for each choice, int64 [...]; values are floating-point [..., choices]. NaN without a gradient,
// on every device, for a choice outside of [0, choices).
torch::Tensor ValuesOfChoices(const torch::Tensor& values, const torch::Tensor& choices);
// The same for the largest choice of `selector`, which has the values' shape.
torch::Tensor ValuesOfBest(const torch::Tensor& values, const torch::Tensor& selector);

// rewards + bootstrap * values[i, argmax over a of selector[i, a]] for row i: the maximum if the selector equals the
// values, double Q-learning (arXiv 1509.06461) if it is the online network's. A bootstrap of 0 ignores the value, even
// if it is not finite. `rewards` and `bootstrap` are [rows], the others [rows, actions]. A constant.
torch::Tensor QLearningTargets(const torch::Tensor& rewards, const torch::Tensor& bootstrap,
                               const torch::Tensor& selector, const torch::Tensor& values);

struct QLearningLossResult {
  torch::Tensor loss;    // Scalar, differentiable by q: mean of weight * loss(q[row, action] - target).
  torch::Tensor errors;  // [rows]: |q[row, action] - target|.
  torch::Tensor q_mean;  // Scalar: mean of q[row, action].
};

// `q` is [rows, actions]; `actions` (int64), `targets` and `weights` are [rows]. An action outside of [0, actions)
// makes the loss not finite, which makes all gradients so.
QLearningLossResult QLearningLoss(TdLoss loss, const torch::Tensor& q, const torch::Tensor& actions,
                                  const torch::Tensor& targets, const torch::Tensor& weights);

}  // namespace waggle
