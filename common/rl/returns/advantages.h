#pragma once

#include "common/nn/torch.h"

namespace waggle {

// [T, rows] each.
struct Advantages {
  torch::Tensor advantage;  // How much better a row's action was than its value. 0 in rows that are an episode's last.
  torch::Tensor value_target;  // advantage + value, which is the lambda-return. 0 in rows that are an episode's last.
};

// The generalised advantages of an unroll (arXiv 1506.02438), time-major:
//   A_t = reward_t + discount_t * value_{t+1} - value_t + discount_t * lambda * A_{t+1},
// reward, discount [T, rows]: of row t's action; discount is the environment's times gamma, 0 where the episode
// terminates. value [T + 1, rows]: of each row's observation, and of the one after the last row. last [T, rows], bool:
// row t carries an episode's final observation, so nothing follows from its action: the next row is another episode's
// first. A truncated episode thus counts the value of its final observation.
//
// What does not count changes nothing, even if it is not finite: reward and discount of a last row, and what follows a
// discount of 0. Constants: no gradient flows. float32 or float64, all of one type; other types and shapes are a
// c10::Error that says what was got and what was wanted. `lambda` is in [0, 1].
Advantages GeneralizedAdvantages(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                                 const torch::Tensor& last, double lambda);

// The value targets above: G_t = reward_t + discount_t * ((1 - lambda) * value_{t+1} + lambda * G_{t+1}), where G of an
// episode's last row is its value.
torch::Tensor LambdaReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                            const torch::Tensor& last, double lambda);

// The lambda-returns of lambda 1: discounted sums of rewards up to the episode's end, or to the value where an episode
// is truncated or goes on after the unroll. Other values, which must be finite, make no difference.
torch::Tensor DiscountedReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                                const torch::Tensor& last);

// The mean over the elements that count: mask is bool, of the same shape, and undefined where all count. 0 if none
// does.
torch::Tensor MaskedMean(const torch::Tensor& values, const torch::Tensor& mask);

// (advantage - mean) / sqrt(variance + 1e-8), with mean and population variance of the elements that count; 0 in the
// others. `mask` as above.
torch::Tensor Standardized(const torch::Tensor& advantage, const torch::Tensor& mask);

}  // namespace waggle
