#include "replay_server/table/prioritized_selector.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "tests/replay_server/table/selector_checks.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ChiSquare;
using testing::CountDraws;

void UpdateOne(Selector* selector, uint32_t slot, double priority) {
  selector->Update(absl::MakeConstSpan(&slot, 1), absl::MakeConstSpan(&priority, 1));
}

}  // namespace

TEST_CASE("weights are priorities to the power of the exponent", "[unit]") {
  PrioritizedSelector selector(0.6, 16);
  const double priorities[] = {0.01, 0.51, 1.01, 2.01, 10.01};
  const double weights[] = {0.063096, 0.667640, 1.005988, 1.520259, 3.983460};
  double sum = 0;
  for (uint32_t i = 0; i < 5; ++i) {
    selector.Insert(i, priorities[i]);
    sum += weights[i];
    REQUIRE(selector.Sum() == Approx(sum).epsilon(1e-5));
  }
  Rng rng(1);
  std::vector<Draw> draws(500);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  for (const Draw& draw : draws) {
    REQUIRE(draw.probability == Approx(weights[draw.slot] / sum).epsilon(1e-5));
  }
}

TEST_CASE("items are drawn as often as their weights say", "[unit]") {
  PrioritizedSelector selector(0.7, 1000);
  Rng rng(3);
  std::map<uint32_t, double> probabilities;
  double sum = 0;
  for (uint32_t slot = 0; slot < 100; ++slot) {
    const double priority = slot % 10 == 0 ? 0 : rng.Uniform() * 10;
    selector.Insert(slot * 7, priority);
    probabilities[slot * 7] = std::pow(priority, 0.7);
    sum += probabilities[slot * 7];
  }
  for (auto& [slot, probability] : probabilities) {
    probability /= sum;
  }
  // 89 degrees of freedom: 145 is exceeded by independent draws once in 10 000 times, by stratified ones hardly ever.
  REQUIRE(ChiSquare(CountDraws(&selector, &rng, 500, 64), probabilities) < 145);
  // Batches of one are independent draws.
  REQUIRE(ChiSquare(CountDraws(&selector, &rng, 30000, 1), probabilities) < 145);
}

TEST_CASE("a stratified batch draws each item as often as expected, to within one", "[unit]") {
  PrioritizedSelector selector(1, 8);
  selector.Insert(0, 1);
  selector.Insert(1, 2);
  selector.Insert(2, 5);
  Rng rng(4);
  for (int round = 0; round < 50; ++round) {
    std::map<uint32_t, int64_t> counts = CountDraws(&selector, &rng, 1, 80);
    REQUIRE(std::abs(counts[0] - 10) <= 1);
    REQUIRE(std::abs(counts[1] - 20) <= 1);
    REQUIRE(std::abs(counts[2] - 50) <= 1);
  }
}

TEST_CASE("where all priorities are 0 every item is as likely as the others", "[unit]") {
  PrioritizedSelector selector(0.6, 1000);
  Rng rng(5);
  std::map<uint32_t, double> probabilities;
  for (uint32_t slot = 0; slot < 300; slot += 3) {
    selector.Insert(slot, 0);
    probabilities[slot] = 0.01;
  }
  REQUIRE(selector.Sum() == 0);
  REQUIRE(selector.MinProbability() == Approx(0.01));
  std::vector<Draw> draws(10);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  REQUIRE(draws[0].probability == Approx(0.01));
  REQUIRE(ChiSquare(CountDraws(&selector, &rng, 500, 64), probabilities) < 160);  // 99 degrees of freedom, 1 in 10 000.
  // As soon as one weighs something, it alone is drawn.
  UpdateOne(&selector, 33, 2);
  REQUIRE(CountDraws(&selector, &rng, 1, 64) == std::map<uint32_t, int64_t>{{33, 64}});
}

TEST_CASE("an exponent of 0 is uniform, items of priority 0 included", "[unit]") {
  PrioritizedSelector selector(0, 4);
  selector.Insert(0, 0);
  selector.Insert(1, 1000);
  REQUIRE(selector.Sum() == 2);
  REQUIRE(selector.MinProbability() <= 0.5);
  REQUIRE(selector.MinProbability() > 0.48);
}

TEST_CASE("removed and updated items are drawn by what they are now", "[unit]") {
  PrioritizedSelector selector(1, 4);
  Rng rng(6);
  selector.Insert(0, 1);
  selector.Insert(1, 100);
  selector.Insert(2, 3);
  selector.Remove(1);
  REQUIRE(selector.size() == 2);
  REQUIRE(selector.Sum() == 4);
  REQUIRE(CountDraws(&selector, &rng, 1, 400).count(1) == 0);
  UpdateOne(&selector, 0, 0);
  REQUIRE(selector.Sum() == 3);
  REQUIRE(CountDraws(&selector, &rng, 1, 400) == std::map<uint32_t, int64_t>{{2, 400}});
  selector.Insert(1, 1);  // The slot is used again.
  REQUIRE(selector.Sum() == 4);
  selector.Clear();
  REQUIRE(selector.size() == 0);
  REQUIRE(selector.Sum() == 0);
  REQUIRE(selector.MinProbability() == 0);
}

TEST_CASE("the smallest probability is a bound that follows items as they come and go", "[unit]") {
  PrioritizedSelector selector(0.6, 1 << 10);
  Rng rng(7);
  std::map<uint32_t, double> priorities;
  for (int step = 0; step < 5000; ++step) {
    const auto slot = static_cast<uint32_t>(rng.UniformInt(200));
    const double priority = std::exp(rng.Uniform(-20, 20));
    if (priorities.count(slot) == 0) {
      selector.Insert(slot, priority);
      priorities[slot] = priority;
    } else if (rng.UniformInt(2) == 0) {
      UpdateOne(&selector, slot, priority);
      priorities[slot] = priority;
    } else {
      selector.Remove(slot);
      priorities.erase(slot);
    }
    if (!priorities.empty()) {
      double least = std::numeric_limits<double>::infinity();
      double sum = 0;
      for (const auto& [unused, value] : priorities) {
        least = std::min(least, std::pow(value, 0.6));
        sum += std::pow(value, 0.6);
      }
      REQUIRE(selector.MinProbability() <= least / sum * (1 + 1e-9));
      REQUIRE(selector.MinProbability() > least / sum / 1.04);
    }
  }
}

TEST_CASE("a selector takes more slots than were expected", "[unit]") {
  PrioritizedSelector selector(1, 2);
  for (uint32_t slot = 0; slot < 1000; ++slot) {
    selector.Insert(slot, 1);
  }
  REQUIRE(selector.Sum() == 1000);
}

TEST_CASE("priorities that cannot be summed are refused", "[unit]") {
  REQUIRE_OK(PrioritizedSelector::ValidatePriority(0, 0.6));
  REQUIRE_OK(PrioritizedSelector::ValidatePriority(1e308, 0.6));
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, -1e-300, infinity, -infinity, nan}) {
    REQUIRE_CODE(PrioritizedSelector::ValidatePriority(bad, 0.6), absl::StatusCode::kInvalidArgument);
  }
  REQUIRE_CODE(PrioritizedSelector::ValidatePriority(1e200, 2), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(PrioritizedSelector::ValidatePriority(1e308, 1), absl::StatusCode::kInvalidArgument);
}

}  // namespace waggle
