#pragma once

#include "common/nn/torch.h"
#include "common/rl/returns/advantages.h"

// Returns of what another policy acted, over unrolls that may cross episodes. Time-major: [T, rows], or [T + 1, rows]
// where the observation after the last row counts too. As in GeneralizedAdvantages, `discount` is the environment's
// times gamma, 0 where the episode terminates; `last` (bool) marks rows that carry an episode's final observation, of
// which neither reward, discount nor action counts; a truncated episode counts the value of its final observation. What
// does not count changes nothing, even if it is not finite. Constants: no gradient flows. float32 or float64, all of
// one type; other types and shapes are a c10::Error that says what was got and what was wanted.

namespace waggle {

// How far a step of the acting policy may count for the learning one.
struct VTraceOptions {
  double rho_clip =
      1;              // Of the ratio by which a step's own error counts: 1 or less gives values between the policies'.
  double c_clip = 1;  // Of the ratio by which what follows a step counts; at most rho_clip.
  double lambda = 1;  // Of what follows a step, beside the ratio.
};

// V-trace (Espeholt et al. 2018, arXiv 1802.01561, equations 1 and 4):
//   rho_t = min(rho_clip, ratio_t), c_t = lambda * min(c_clip, ratio_t),
//   v_t = value_t + rho_t * (reward_t + discount_t * value_{t+1} - value_t) + discount_t * c_t * (v_{t+1} -
//   value_{t+1}), advantage_t = rho_t * (reward_t + discount_t * (lambda * v_{t+1} + (1 - lambda) * value_{t+1}) -
//   value_t),
// where v of an episode's last row and of the observation after the unroll is its value. value_target is v. With ratios
// of 1, and clips of at least 1, these are the generalised advantages and the lambda-returns.
//
// `log_ratio` [T, rows]: of the learning policy's probability of the action to the acting one's. `value` [T + 1, rows].
Advantages VTrace(const VTraceOptions& options, const torch::Tensor& log_ratio, const torch::Tensor& reward,
                  const torch::Tensor& discount, const torch::Tensor& value, const torch::Tensor& last);

// What Q-values of steps should become by Retrace (Munos et al. 2016, arXiv 1606.02647, equation 3), [T, rows]:
//   c_t = lambda * min(1, ratio_t),
//   target_t = reward_t + discount_t * (expected_{t+1} + c_{t+1} * (target_{t+1} - q_{t+1})),
// where c of an episode's last row and of the observation after the unroll is 0. 0 in rows that are an episode's last.
//
// `q` [T, rows]: of each row's action. `expected` [T + 1, rows]: of the learning policy's actions in each row's
// observation.
torch::Tensor RetraceTargets(double lambda, const torch::Tensor& log_ratio, const torch::Tensor& reward,
                             const torch::Tensor& discount, const torch::Tensor& q, const torch::Tensor& expected,
                             const torch::Tensor& last);

}  // namespace waggle
