#pragma once

#include "common/nn/torch.h"
#include "common/rl/kit/returns/advantages.h"

// Returns of another policy's actions, over unrolls that may cross episodes. Time-major: [T, rows], or [T + 1, rows]
// with the observation after the last row. Arguments and errors as in GeneralizedAdvantages; `last` rows' actions do
// not count.

namespace waggle {

// Limits of the weight of the acting policy's steps.
struct VTraceOptions {
  // Limit of the ratio that weighs a step's own error: values are between the policies' up to 1.
  double rho_clip = 1;
  double c_clip = 1;  // Limit of the ratio that weighs later steps; at most rho_clip.
  double lambda = 1;  // Weight of later steps, besides the ratio.
};

// V-trace (Espeholt et al. 2018, arXiv 1802.01561, equations 1 and 4):
//     rho_t = min(rho_clip, ratio_t), c_t = lambda * min(c_clip, ratio_t),
//     v_t = value_t + rho_t * (reward_t + discount_t * value_{t+1} - value_t)
//           + discount_t * c_t * (v_{t+1} - value_{t+1}),
//     advantage_t = rho_t * (reward_t + discount_t * (lambda * v_{t+1} + (1 - lambda) * value_{t+1}) - value_t).
// v of an episode's last row and of the observation after the unroll is its value. value_target is v. With ratios of 1
// and clips of at least 1 these are the generalised advantages and lambda-returns.
//
// `log_ratio` [T, rows]: log of the action's probability ratio, learning to acting policy. `value` [T + 1, rows].
Advantages VTrace(const VTraceOptions& options, const torch::Tensor& log_ratio, const torch::Tensor& reward,
                  const torch::Tensor& discount, const torch::Tensor& value, const torch::Tensor& last);

// Targets of steps' Q-values by Retrace (Munos et al. 2016, arXiv 1606.02647, equation 3), [T, rows]:
//     c_t = lambda * min(1, ratio_t),
//     target_t = reward_t + discount_t * (expected_{t+1} + c_{t+1} * (target_{t+1} - q_{t+1})).
// c of an episode's last row and of the observation after the unroll is 0. Targets of last rows are 0.
//
// `q` [T, rows]: of each row's action. `expected` [T + 1, rows]: of the learning policy's actions at each observation.
torch::Tensor RetraceTargets(double lambda, const torch::Tensor& log_ratio, const torch::Tensor& reward,
                             const torch::Tensor& discount, const torch::Tensor& q, const torch::Tensor& expected,
                             const torch::Tensor& last);

}  // namespace waggle
