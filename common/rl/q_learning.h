#pragma once

#include "common/nn/torch.h"

// Q-learning's arithmetic as pure functions of tensors: one sweep over the memory for float32 on the CPU, operators of
// LibTorch for everything else. They may throw as LibTorch does.

namespace waggle {

enum class TdLoss { kHuber, kMse };

// values[..., choice] of each choice, int64 [...], where values are [..., choices].
torch::Tensor ValuesOfChoices(const torch::Tensor& values, const torch::Tensor& choices);
// The same of the choice that `selector`, of the values' shape, prefers: its largest.
torch::Tensor ValuesOfBest(const torch::Tensor& values, const torch::Tensor& selector);

// rewards + bootstrap * value, where the value of row i is values[i, argmax over a of selector[i, a]]. With the
// selector equal to the values that is their maximum; with the online network's as the selector it is double
// Q-learning (arXiv 1509.06461). Where the bootstrap is 0 the value does not count, whatever it is. `rewards` and
// `bootstrap` are [rows], the others [rows, actions]. A constant.
torch::Tensor QLearningTargets(const torch::Tensor& rewards, const torch::Tensor& bootstrap,
                               const torch::Tensor& selector, const torch::Tensor& values);

struct QLearningLossResult {
  torch::Tensor loss;    // Scalar, differentiable by q: the mean over rows of weight * loss(q[row, action] - target).
  torch::Tensor errors;  // [rows]: |q[row, action] - target|.
  torch::Tensor q_mean;  // Scalar: the mean of q[row, action].
};

// `q` is [rows, actions]; `actions` (int64), `targets` and `weights` are [rows]. An action outside of [0, actions)
// makes the loss not finite, and one that is not finite makes every gradient so.
QLearningLossResult QLearningLoss(TdLoss loss, const torch::Tensor& q, const torch::Tensor& actions,
                                  const torch::Tensor& targets, const torch::Tensor& weights);

}  // namespace waggle
