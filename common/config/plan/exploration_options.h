#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/schedule.h"

namespace waggle {

// `algorithm.exploration:`: the actors' deviation from the policy. Evaluations never explore.
struct ExplorationOptions {
  // The type by default of algorithms whose plan replaces it by one that fits the action. Others refuse it.
  static constexpr char kByAction[] = "by_action";

  // none: only the policy's own distribution. epsilon_greedy: a lane acts at random with a probability. boltzmann: the
  // choice is drawn by softmax(q / temperature). gaussian, clipped_gaussian, moving_average, uniform,
  // ornstein_uhlenbeck: noise that is added to a real action in [-1, 1]. parameter_noise: noise in the acting network's
  // parameters (arXiv 1706.01905).
  std::string type = "none";
  // Environment steps of the run whose actions are uniformly random, without the policy.
  int64_t warm_up_steps = 0;

  // epsilon_greedy: the probability that a lane acts at random. With a ladder_exponent above 0 lane i of all N has
  // epsilon ^ (1 + ladder_exponent * i / (N - 1)), as in Ape-X (arXiv 1803.00933): some explore much, others little.
  // The same for sigma.
  Schedule epsilon = 0.1;
  double ladder_exponent = 0;

  Schedule temperature = 1;  // boltzmann.

  // gaussian, clipped_gaussian, moving_average, ornstein_uhlenbeck: the noise's mean and standard deviation.
  // moving_average: sigma is that of each of the two draws whose sum a step has. ornstein_uhlenbeck: these
  // are of a process that begins each episode at `initial`, and returns to the mean at the rate theta; a unit of its
  // time has 1 / time_step steps.
  Schedule sigma = 0.1;
  double mean = 0;
  double theta = 0.15;
  double time_step = 0.01;
  double initial = 0;
  // The bounds of the noise: of a uniform one's numbers, of those to which a clipped one is cut. low is at most high.
  double low = -0.3;
  double high = 0.3;
  // All that add noise: the share of actions that are uniformly random instead.
  double random_share = 0;

  // parameter_noise: the first deviation of the noise; the wanted distance between noisy and clean actions (the root of
  // the mean square of their elements, or the mean divergence of the softmax of values); the factor by which the
  // deviation follows it; and the acting steps between draws.
  double parameter_deviation = 0.1;
  double parameter_distance = 0.1;
  double parameter_factor = 1.01;
  int64_t parameter_steps = 50;

  // True for the types that add noise to real actions.
  bool AddsNoise() const;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
