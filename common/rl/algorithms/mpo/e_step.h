#pragma once

#include "common/nn/torch.h"

// The E-step of MPO (arXiv 1806.06920, section 4.2 and appendix D.1): the distribution over candidate actions that is
// best by its values and at most `divergence` nats, on average over states, away from the prior. Its weights are the
// prior's times exp(q / temperature). `q` and `log_prior` are [rows, candidates], floating-point; a row's prior sums
// to 1. Pure; constants for autograd are the caller's business. May throw as LibTorch does.

namespace waggle {

// [rows, candidates], and 1 over each row. `temperature` is above 0, without dimensions.
torch::Tensor ImprovedWeights(const torch::Tensor& temperature, const torch::Tensor& q, const torch::Tensor& log_prior);

// The convex dual of the temperature, without dimensions:
//     temperature * divergence + temperature * mean over rows of log sum_a prior(a) exp(q(a) / temperature).
// Its derivative is `divergence` minus the mean divergence of the weights from the prior.
torch::Tensor TemperatureDual(const torch::Tensor& temperature, const torch::Tensor& q, const torch::Tensor& log_prior,
                              double divergence);

// The temperature, without dimensions, of the least dual, by bisection of its derivative. If even weights on
// each row's best candidates alone are closer to the prior, it is a millionth of the largest possible temperature.
torch::Tensor BestTemperature(const torch::Tensor& q, const torch::Tensor& log_prior, double divergence);

}  // namespace waggle
