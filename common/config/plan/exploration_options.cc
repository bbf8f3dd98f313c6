#include "common/config/plan/exploration_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace waggle {
namespace {

const std::vector<std::string>& Noises() {
  static const auto* const types =
      new std::vector<std::string>{"gaussian", "clipped_gaussian", "moving_average", "uniform", "ornstein_uhlenbeck"};
  return *types;
}

}  // namespace

bool ExplorationOptions::AddsNoise() const {
  return std::find(Noises().begin(), Noises().end(), type) != Noises().end();
}

void ExplorationOptions::Visit(ConfigVisitor& visitor) {
  std::vector<std::string> known = {"none",     "epsilon_greedy",     "boltzmann",
                                    "gaussian", "clipped_gaussian",   "moving_average",
                                    "uniform",  "ornstein_uhlenbeck", "parameter_noise"};
  if (type == kByAction) {
    known.emplace_back(kByAction);
  }
  visitor.Choice("type", &type, known);
  visitor.Int("warm_up_steps", &warm_up_steps, In(0, 1e12));
  const auto applies = [&](const char* key, const std::vector<std::string>& types) {
    return visitor.Applies(key, std::find(types.begin(), types.end(), type) != types.end(),
                           absl::StrCat("means nothing to the exploration ", type, "; wanted none, or the type ",
                                        absl::StrJoin(types, " or ")));
  };
  if (applies("epsilon", {"epsilon_greedy"})) {
    visitor.Schedule("epsilon", &epsilon, In(0, 1).Live());
  }
  const std::vector<std::string> normals = {"gaussian", "clipped_gaussian", "moving_average", "ornstein_uhlenbeck"};
  if (applies("ladder_exponent",
              {"epsilon_greedy", "gaussian", "clipped_gaussian", "moving_average", "ornstein_uhlenbeck"})) {
    visitor.Double("ladder_exponent", &ladder_exponent, In(0, 1'000).Live());
  }
  if (applies("temperature", {"boltzmann"})) {
    visitor.Schedule("temperature", &temperature, Above(0, 1e6).Live());
  }
  if (applies("sigma", normals)) {
    visitor.Schedule("sigma", &sigma, In(0, 100).Live());
  }
  if (applies("mean", normals)) {
    visitor.Double("mean", &mean, In(-2, 2));
  }
  if (applies("theta", {"ornstein_uhlenbeck"})) {
    visitor.Double("theta", &theta, In(0, 1));  // With a time step of 1, noise of more than 2 would grow without end.
  }
  if (applies("time_step", {"ornstein_uhlenbeck"})) {
    visitor.Double("time_step", &time_step, Above(0, 1));
  }
  if (applies("initial", {"ornstein_uhlenbeck"})) {
    visitor.Double("initial", &initial, In(-2, 2));
  }
  if (applies("low", {"uniform", "clipped_gaussian"})) {
    visitor.Double("low", &low, In(-2, 0));
  }
  if (applies("high", {"uniform", "clipped_gaussian"})) {
    visitor.Double("high", &high, In(0, 2));
  }
  if (applies("random_share", Noises())) {
    visitor.Double("random_share", &random_share, In(0, 1).Live());
  }
  if (applies("parameter_deviation", {"parameter_noise"})) {
    visitor.Double("parameter_deviation", &parameter_deviation, Above(0, 100));
  }
  if (applies("parameter_distance", {"parameter_noise"})) {
    visitor.Double("parameter_distance", &parameter_distance, Above(0, 100));
  }
  if (applies("parameter_factor", {"parameter_noise"})) {
    visitor.Double("parameter_factor", &parameter_factor, Above(1, 10));
  }
  if (applies("parameter_steps", {"parameter_noise"})) {
    visitor.Int("parameter_steps", &parameter_steps, In(1, 1e9));
  }
}

absl::Status ExplorationOptions::Validate() const {
  return absl::OkStatus();
}

}  // namespace waggle
