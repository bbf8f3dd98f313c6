#pragma once

#include "common/nn/torch.h"

namespace waggle {

// [T, rows] each. 0 in rows that are an episode's last.
struct Advantages {
  torch::Tensor advantage;     // How much better a row's action was than its value.
  torch::Tensor value_target;  // advantage + value, the lambda-return.
};

// The generalised advantages of an unroll (arXiv 1506.02438), time-major:
//     A_t = reward_t + discount_t * value_{t+1} - value_t + discount_t * lambda * A_{t+1}.
// reward, discount [T, rows]: of row t's action. discount is the environment's times gamma, 0 if the episode
// terminates. value [T + 1, rows]: of each row's observation, and of the one after the last row. last [T, rows], bool:
// row t has an episode's final observation, so its action has no result, and the next row begins another episode. So a
// truncated episode counts the value of its final observation.
//
// Values that do not count may be anything, even not finite: reward and discount of a last row, and all that follows a
// discount of 0. Results are constants. All must be float32 or float64 of one type; other types and shapes are a
// c10::Error with what was got and wanted. `lambda` is in [0, 1].
Advantages GeneralizedAdvantages(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                                 const torch::Tensor& last, double lambda);

// The value targets above: G_t = reward_t + discount_t * ((1 - lambda) * value_{t+1} + lambda * G_{t+1}). G of an
// episode's last row is its value.
torch::Tensor LambdaReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                            const torch::Tensor& last, double lambda);

// The lambda-returns of lambda 1: discounted sums of rewards up to the episode's end, or to the value if it is
// truncated or longer than the unroll. Other values do not matter but must be finite.
torch::Tensor DiscountedReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                                const torch::Tensor& last);

// The mean over elements with a true `mask`, bool of the same shape; undefined for all. 0 if there are none.
torch::Tensor MaskedMean(const torch::Tensor& values, const torch::Tensor& mask);

// (advantage - mean) / sqrt(variance + 1e-8), with mean and population variance of the elements in `mask`; 0 elsewhere.
torch::Tensor Standardized(const torch::Tensor& advantage, const torch::Tensor& mask);

}  // namespace waggle
