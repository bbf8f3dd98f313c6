#include "common/rl/acting/explorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace waggle {
namespace {

OrnsteinUhlenbeckOptions DriftOptions(const ExplorationOptions& options) {
  OrnsteinUhlenbeckOptions drift;
  drift.mean = options.mean;
  drift.initial = options.initial;
  drift.deviation = 1;  // Scaled by sigma.
  drift.rate = options.theta;
  drift.interval = options.time_step;
  return drift;
}

}  // namespace

Explorer::Explorer(const ExplorationOptions& options, JointAction action, const ExplorerLanes& lanes, uint64_t seed)
    : options_(options),
      action_(std::move(action)),
      lanes_(lanes),
      ladder_lanes_(lanes.all_lanes),
      ladder_(static_cast<size_t>(lanes.lanes)),
      rng_(Rng::Split(seed, "exploration", static_cast<uint64_t>(lanes.first_lane))),
      noise_(rng_.Next(), torch::kCPU) {
  if (options_.type == "ornstein_uhlenbeck") {
    drift_.emplace(DriftOptions(options_), lanes_.lanes, action_.num_reals, torch::kCPU);
  } else if (options_.type == "moving_average") {
    average_.emplace(lanes_.lanes, action_.num_reals, torch::kCPU);
  }
}

void Explorer::Advance(absl::Span<const uint8_t> first) {
  steps_ += std::count(first.begin(), first.end(), uint8_t{0});
}

Progress Explorer::progress() const {
  Progress progress = progress_;
  // Steps of one lane. Slots for lanes that may still come do not count.
  const int64_t own = lanes_.first_step + steps_ / std::min(lanes_.lanes, ladder_lanes_);
  progress.env_steps = std::max(progress.env_steps, own * lanes_.all_lanes);
  return progress;
}

void Explorer::SetOptions(const ExplorationOptions& options) {
  options_ = options;
  ladder_.assign(ladder_.size(), Rung());
}

void Explorer::SetAllLanes(int64_t all_lanes) {
  if (all_lanes != ladder_lanes_) {
    ladder_lanes_ = all_lanes;
    ladder_.assign(ladder_.size(), Rung());
  }
}

double Explorer::OnLadder(int64_t slot, double base) {
  if (options_.ladder_exponent == 0) {
    return base;
  }
  Rung& rung = ladder_[static_cast<size_t>(slot)];
  if (rung.base != base) {
    const int64_t last = ladder_lanes_ - 1;
    const int64_t lane = std::min(lanes_.first_lane + slot, last);
    const double position = last > 0 ? static_cast<double>(lane) / static_cast<double>(last) : 0;
    // A number above 1 is that of all lanes.
    rung = {base, base * std::pow(std::min(base, 1.0), options_.ladder_exponent * position)};
  }
  return rung.number;
}

int64_t Explorer::RandomChoice(int64_t choices, const bool* legal) {
  if (legal == nullptr) {
    return static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(choices)));
  }
  const auto count = std::count(legal, legal + choices, true);
  if (count == 0) {
    return static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(choices)));
  }
  auto left = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(count)));
  for (int64_t choice = 0; choice < choices; ++choice) {
    if (legal[choice] && left-- == 0) {
      return choice;
    }
  }
  return 0;
}

int64_t Explorer::Choose(int64_t slot, const float* values, int64_t choices, int64_t best, const bool* legal) {
  if (WarmingUp()) {
    return RandomChoice(choices, legal);
  }
  if (options_.type == "epsilon_greedy") {
    return rng_.Uniform() < OnLadder(slot, options_.epsilon.At(progress())) ? RandomChoice(choices, legal) : best;
  }
  if (options_.type != "boltzmann") {
    return best;
  }
  // A Gumbel-max draw from softmax(values / temperature).
  const double temperature = options_.temperature.At(progress());
  int64_t chosen = best;
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t choice = 0; choice < choices; ++choice) {
    if (legal != nullptr && !legal[choice]) {
      continue;
    }
    const double draw = static_cast<double>(values[choice]) / temperature - std::log(-std::log1p(-rng_.Uniform()));
    if (draw > largest) {
      largest = draw;
      chosen = choice;
    }
  }
  return chosen;
}

torch::Tensor Explorer::RandomChoices(const torch::Tensor& actions, const torch::Tensor& mask) {
  torch::Tensor random = torch::empty(actions.sizes(), torch::kInt64);
  int64_t* const values = random.data_ptr<int64_t>();
  const bool* legal = mask.defined() ? mask.data_ptr<bool>() : nullptr;
  for (int64_t i = 0; i < random.numel(); ++i) {
    const int64_t choices = action_.num_values[static_cast<size_t>(i) % action_.num_values.size()];
    values[i] = RandomChoice(choices, legal);
    legal = legal == nullptr ? nullptr : legal + choices;
  }
  return random;
}

torch::Tensor Explorer::RandomActions(const torch::Tensor& actions, const torch::Tensor& mask) {
  if (action_.num_reals == 0) {
    return RandomChoices(actions, mask);
  }
  const int64_t choosing = action_.num_choosing();
  const torch::Tensor reals = noise_.UniformLike(actions.narrow(-1, choosing, action_.num_reals)) * 2 - 1;
  if (choosing == 0) {
    return reals;
  }
  return torch::cat({RandomChoices(actions.narrow(-1, 0, choosing), mask).to(reals.scalar_type()), reals}, -1);
}

torch::Tensor Explorer::NoiseFor(const torch::Tensor& actions, const torch::Tensor& slots, const torch::Tensor& first) {
  if (options_.type == "uniform") {
    return options_.low + (options_.high - options_.low) * noise_.UniformLike(actions);
  }
  const torch::Tensor sigma = torch::empty({actions.size(0), 1}, actions.options());
  const double base = options_.sigma.At(progress());
  for (int64_t row = 0; row < sigma.numel(); ++row) {
    sigma.data_ptr<float>()[row] = static_cast<float>(OnLadder(slots.data_ptr<int64_t>()[row], base));
  }
  if (drift_.has_value()) {
    return drift_->Step(slots, first, &noise_, sigma).view(actions.sizes());
  }
  const torch::Tensor random =
      average_.has_value() ? average_->Step(slots, first, &noise_).view(actions.sizes()) : noise_.NormalLike(actions);
  const torch::Tensor normal = options_.mean + sigma * random;
  return options_.type == "clipped_gaussian" ? normal.clamp(options_.low, options_.high) : normal;
}

torch::Tensor Explorer::Explore(const torch::Tensor& actions, const torch::Tensor& slots, const torch::Tensor& first,
                                const torch::Tensor& mask) {
  if (WarmingUp()) {
    return RandomActions(actions, mask);
  }
  if (!action_.num_values.empty() || !options_.AddsNoise()) {
    return actions;
  }
  const torch::Tensor noisy = (actions + NoiseFor(actions, slots, first)).clamp(-1, 1);
  if (options_.random_share == 0) {
    return noisy;
  }
  const torch::Tensor random = noise_.UniformLike(actions.select(-1, 0).unsqueeze(-1)) < options_.random_share;
  return torch::where(random, RandomActions(actions, mask), noisy);
}

}  // namespace waggle
