#pragma once

#include "common/nn/torch.h"

// Q-learning's arithmetic as pure functions of tensors: one sweep over the memory for float32 on the CPU, operators of
// LibTorch for everything else. They may throw as LibTorch does.

namespace waggle {

enum class TdLoss { kHuber, kMse };

// rewards + bootstrap * value, where the value of row i is values[i, argmax over a of selector[i, a]]. With the
// selector equal to the values that is their maximum; with the online network's as the selector it is double
// Q-learning. Where the bootstrap is 0 the value does not count, whatever it is. `rewards` and `bootstrap` are [rows],
// the others [rows, actions].
torch::Tensor DqnTargets(const torch::Tensor& rewards, const torch::Tensor& bootstrap, const torch::Tensor& selector,
                         const torch::Tensor& values);

struct DqnLossResult {
  torch::Tensor loss;        // Scalar: the mean over rows of weight * loss(q[row, action] - target).
  torch::Tensor td_errors;   // [rows]: |q[row, action] - target|.
  torch::Tensor q_mean;      // Scalar: the mean of q[row, action].
  torch::Tensor q_gradient;  // [rows, actions]: of the loss by q; not finite anywhere unless the loss is finite.
};

// `q` is [rows, actions]; `actions` (int64), `targets` and `weights` are [rows]. An action outside of [0, actions)
// makes the loss not finite.
DqnLossResult DqnLoss(TdLoss loss, const torch::Tensor& q, const torch::Tensor& actions, const torch::Tensor& targets,
                      const torch::Tensor& weights);

}  // namespace waggle
