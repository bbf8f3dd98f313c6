#include "common/rl/kit/entropy_stages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr double kBound = 0.8;     // Share of the first entropy.
constexpr double kSlowDown = 0.9;  // Factor of the rate, at each crossing of the target.
constexpr double kBack = 0.5;      // Share of the rate of moves that only damp.

// A share of an entropy that is less than it, also if it is negative.
double Less(double entropy, double share) {
  return entropy > 0 ? share * entropy : entropy / share;
}

}  // namespace

double DefaultEntropyTarget(const JointAction& action) {
  constexpr double kRest = 0.1;
  double target = static_cast<double>(action.num_reals) * std::log(2 * kRest);  // Real elements are in [-1, 1].
  for (const int64_t values : action.num_values) {
    if (values > 1) {
      target += kRest * std::log(static_cast<double>(values - 1) / kRest) - (1 - kRest) * std::log(1 - kRest);
    }
  }
  return target;
}

EntropyStages::EntropyStages(const EntropyStagesOptions& options, double target)
    : options_(options),
      target_(target),
      window_(static_cast<size_t>(options.window)),
      stage_(options.adjusts_first ? kAdjust : kMeasure),
      rate_(options.fastest_rate) {}

double EntropyStages::Next(double log_weight, double entropy) {
  const auto mean = [this] {
    const auto filled = static_cast<double>(std::clamp<int64_t>(steps_, 1, options_.window));
    return std::accumulate(window_.begin(), window_.end(), 0.0) / filled;
  };
  const double before = mean();
  window_[static_cast<size_t>(steps_ % options_.window)] = entropy;
  const bool is_first = ++steps_ == 1;
  const double now = mean();
  const bool falls = !is_first && now < before;
  const bool rises = !is_first && now > before;
  double change = 0;
  switch (stage_) {
    case kMeasure:
      bound_ = Less(now, kBound);
      stage_ = steps_ >= options_.window ? kLower : kMeasure;
      break;
    case kLower:
      change = (falls ? kBack : -1) * options_.lowering_rate;
      stage_ = now < bound_ ? kStay : kLower;
      break;
    case kStay:
      stage_ = now < target_ ? kAdjust : kStay;
      break;
    default:
      if (now < Less(target_, 0.5)) {
        rate_ = options_.fastest_rate;
      } else if ((now < target_) != (was_below_ != 0)) {
        rate_ = std::max(std::min(options_.slowest_rate, options_.fastest_rate), kSlowDown * rate_);
      }
      change = Adjust(now < target_, rises);
      break;
  }
  was_below_ = now < target_ ? 1 : 0;
  return std::max(log_weight + change, std::log(options_.min_weight));
}

double EntropyStages::Adjust(bool is_below, bool rises) const {
  if (rises) {
    return (is_below ? -kBack : -1) * rate_;
  }
  return (is_below ? 1 : kBack) * rate_;
}

void EntropyStages::VisitState(StateVisitor* visitor) {
  for (size_t i = 0; i < window_.size(); ++i) {
    visitor->Double(absl::StrCat("entropy", i), &window_[i]);
  }
  visitor->Int("steps", &steps_);
  visitor->Int("stage", &stage_);
  visitor->Double("bound", &bound_);
  visitor->Double("rate", &rate_);
  visitor->Int("was_below", &was_below_);
}

}  // namespace waggle
