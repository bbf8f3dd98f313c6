#include "common/rl/kit/entropy_stages.h"

#include <cmath>
#include <vector>

#include "common/base/random.h"
#include "tests/support/algorithm_checks.h"
#include "tests/support/state_copy.h"

namespace waggle {
namespace {

using testing::EnvironmentOf;

double TargetFor(SpaceLeaf action) {
  return DefaultEntropyTarget(JointActionOf(EnvironmentOf(1, std::move(action))));
}

// The weights, from 1 on, after these entropies.
std::vector<double> Weights(EntropyStages* stages, const std::vector<double>& entropies) {
  std::vector<double> weights;
  double log_weight = 0;
  for (const double entropy : entropies) {
    log_weight = stages->Next(log_weight, entropy);
    weights.push_back(std::exp(log_weight));
  }
  return weights;
}

EntropyStagesOptions Options() {
  EntropyStagesOptions options;
  options.window = 1;
  options.lowering_rate = 0.1;
  options.slowest_rate = 0.5;
  options.fastest_rate = 0.6;
  return options;
}

TEST_CASE("the entropy's default target adds up those of the action's elements", "[unit]") {
  CHECK(TargetFor(Discrete("action", 1)) == 0);
  CHECK(TargetFor(Discrete("action", 2)) == Approx(0.325083));  // Probabilities 0.9 and 0.1.
  CHECK(TargetFor(Discrete("action", 5)) == Approx(0.463712));  // 0.9 and four times 0.025.
  CHECK(TargetFor(MultiBinary("action", {3})) == Approx(3 * 0.325083));
  CHECK(TargetFor(Box("action", DType::kFloat32, {2}, -1, 1)) == Approx(2 * std::log(0.2)));
}

TEST_CASE("the entropy's weight falls below the first entropy, waits for the target, and then follows it", "[unit]") {
  EntropyStages stages(Options(), 0.5);
  const std::vector<double> weights = Weights(&stages, {1, 1, 0.9, 0.7, 0.6, 0.4, 0.4, 0.3, 0.45, 0.6, 0.7});
  const std::vector<double> changes = {
      0,     // Measured: the bound is 0.8.
      -0.1,  // Not falling.
      0.05,  // Falling by itself.
      0.05,  // Below the bound.
      0,     0,
      0.6,  // Below the target, and the entropy does not rise.
      0.6,
      -0.3,   // Below, but it rises.
      -0.54,  // Above, and it rises: crossed once.
      -0.54,
  };
  double log_weight = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    INFO("step " << i);
    log_weight += changes[i];
    CHECK(std::log(weights[i]) == Approx(log_weight).margin(1e-12));
  }
}

TEST_CASE("the weight's rate falls at each crossing to the slowest, and is the fastest far below the target",
          "[unit]") {
  EntropyStagesOptions options = Options();
  options.adjusts_first = true;
  for (const double sign : {1.0, -1.0}) {
    EntropyStages stages(options, sign);
    const double above = sign + 0.1;
    const double below = sign - 0.1;
    const double far = sign > 0 ? 0.4 : -2.1;
    std::vector<double> logs = {0};
    for (const double weight : Weights(&stages, {below, above, below, above, below, far})) {
      logs.push_back(std::log(weight));
    }
    const double changes[] = {0.6, -0.54, 0.5, -0.5, 0.5, 0.6};
    for (size_t i = 0; i < 6; ++i) {
      CHECK(logs[i + 1] - logs[i] == Approx(changes[i]));
    }
  }
}

// ALF's rule of the third stage, with numbers for truth values.
TEST_CASE("the third stage has the signs and shares of ALF's formula, with means over a window", "[unit]") {
  EntropyStagesOptions options = Options();
  options.adjusts_first = true;
  options.window = 3;
  options.min_weight = 1e-6;
  options.slowest_rate = options.fastest_rate;
  EntropyStages stages(options, 0.5);
  Rng rng(2);
  std::vector<double> entropies;
  double log_weight = 0;
  const auto mean = [&] {
    double sum = 0;
    const size_t count = std::min<size_t>(3, entropies.size());
    for (size_t i = entropies.size() - count; i < entropies.size(); ++i) {
      sum += entropies[i] / static_cast<double>(count);
    }
    return sum;
  };
  for (int step = 0; step < 200; ++step) {
    const double before = mean();
    entropies.push_back(rng.Uniform());
    const double below = mean() < 0.5 ? 1 : 0;
    const double above = 1 - below;
    const double increasing = step > 0 && mean() > before ? 1 : 0;
    const double decreasing = 1 - increasing;
    const double change = ((below + 0.5 * above) * decreasing - (above + 0.5 * below) * increasing) * 0.6;
    const double expected = std::max(log_weight + change, std::log(1e-6));
    log_weight = stages.Next(log_weight, entropies.back());
    REQUIRE(log_weight == Approx(expected));
  }
}

TEST_CASE("the stages go on after they were saved and loaded", "[unit]") {
  for (const size_t before : {1, 3, 5, 8}) {
    std::vector<double> entropies = {1, 1, 0.9, 0.7, 0.6, 0.4, 0.4, 0.3, 0.45, 0.6, 0.7};
    EntropyStagesOptions options = Options();
    options.window = 2;
    EntropyStages first(options, 0.5);
    EntropyStages second(options, 0.5);
    Weights(&first, std::vector<double>(entropies.begin(), entropies.begin() + static_cast<int64_t>(before)));
    testing::StateCopy copy;
    first.VisitState(copy.Saver());
    second.VisitState(copy.Loader());
    entropies.erase(entropies.begin(), entropies.begin() + static_cast<int64_t>(before));
    CHECK(Weights(&first, entropies) == Weights(&second, entropies));
  }
}

}  // namespace
}  // namespace waggle
