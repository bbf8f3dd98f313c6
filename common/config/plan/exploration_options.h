#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/schedule.h"

namespace waggle {

// `algorithm.exploration:`: the actors' deviation from the policy. Evaluations never explore.
struct ExplorationOptions {
  // none: only the policy's own distribution. epsilon_greedy: a lane acts at random with a probability. boltzmann: the
  // choice is drawn by softmax(q / temperature). gaussian, ornstein_uhlenbeck: noise that is added to a real action in
  // [-1, 1]. parameter_noise: noise in the acting network's parameters (arXiv 1706.01905).
  std::string type = "none";
  // Environment steps of the run whose actions are uniformly random, without the policy.
  int64_t warm_up_steps = 0;

  // epsilon_greedy: the probability that a lane acts at random. With a ladder_exponent above 0 lane i of all N has
  // epsilon ^ (1 + ladder_exponent * i / (N - 1)), as in Ape-X (arXiv 1803.00933): some explore much, others little.
  Schedule epsilon = 0.1;
  double ladder_exponent = 0;

  Schedule temperature = 1;  // boltzmann.

  // gaussian, ornstein_uhlenbeck: the noise's standard deviation, and the rate at which it returns to 0.
  Schedule sigma = 0.1;
  double theta = 0.15;
  double time_step = 0.01;

  // parameter_noise: the first deviation of the noise; the wanted distance between noisy and clean actions (the root of
  // the mean square of their elements, or the mean divergence of the softmax of values); the factor by which the
  // deviation follows it; and the acting steps between draws.
  double parameter_deviation = 0.1;
  double parameter_distance = 0.1;
  double parameter_factor = 1.01;
  int64_t parameter_steps = 50;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
