#include "replay_server/selectors/prioritized_selector.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "tests/replay_server/selectors/selector_checks.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CheckChiSquare;
using testing::CountDraws;
using testing::DrawCounts;
using testing::Weights;

PrioritizedSelectorOptions With(double exponent, int64_t expected_items) {
  PrioritizedSelectorOptions options;
  options.weight.exponent = exponent;
  options.expected_items = expected_items;
  return options;
}

void UpdateOne(Selector* selector, uint32_t slot, double priority) {
  selector->Update(absl::MakeConstSpan(&slot, 1), absl::MakeConstSpan(&priority, 1));
}

}  // namespace

TEST_CASE("weights are priorities and epsilon to the power of the exponent", "[unit]") {
  // Machin's: epsilon 0.01, exponent 0.6.
  PrioritizedSelectorOptions options = With(0.6, 16);
  options.weight.epsilon = 0.01;
  PrioritizedSelector selector(options);
  const double errors[] = {0, 0.5, 1, 2, 10};
  const double weights[] = {0.063096, 0.667640, 1.005988, 1.520259, 3.983460};
  for (uint32_t i = 0; i < 5; ++i) {
    selector.Insert(i, errors[i]);
  }
  REQUIRE(selector.Sum() == Approx(7.240442).epsilon(1e-6));
  Rng rng(1);
  std::vector<Draw> draws(500);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  for (const Draw& draw : draws) {
    REQUIRE(draw.probability == Approx(weights[draw.slot] / 7.240442).epsilon(1e-5));
  }
}

TEST_CASE("items are drawn as often as their weights say", "[unit]") {
  PrioritizedSelector selector(With(0.7, 4));  // It grows.
  Rng rng(3);
  Weights weights;
  for (uint32_t slot = 0; slot < 100; ++slot) {
    const double priority = slot % 10 == 0 ? 0 : rng.Uniform() * 10;
    selector.Insert(slot * 7, priority);
    if (priority > 0) {
      weights[slot * 7] = std::pow(priority, 0.7);
    }
  }
  CheckChiSquare(CountDraws(&selector, &rng, 500, 64), weights);
  CheckChiSquare(CountDraws(&selector, &rng, 30000, 1), weights);  // Independent draws.
}

TEST_CASE("a stratified batch draws each item as often as expected, to within one", "[unit]") {
  PrioritizedSelector selector(With(1, 8));
  selector.Insert(0, 1);
  selector.Insert(1, 2);
  selector.Insert(2, 5);
  Rng rng(4);
  for (int round = 0; round < 50; ++round) {
    DrawCounts counts = CountDraws(&selector, &rng, 1, 80);
    REQUIRE(std::abs(counts[0] - 10) <= 1);
    REQUIRE(std::abs(counts[1] - 20) <= 1);
    REQUIRE(std::abs(counts[2] - 50) <= 1);
  }
}

TEST_CASE("if all priorities are 0 every item is equally likely", "[unit]") {
  PrioritizedSelector selector(With(0.6, 1000));
  Rng rng(5);
  Weights weights;
  for (uint32_t slot = 0; slot < 300; slot += 3) {
    selector.Insert(slot, 0);
    weights[slot] = 1;
  }
  REQUIRE(selector.Sum() == 0);
  REQUIRE(selector.MinProbability() == Approx(0.01));
  std::vector<Draw> draws(10);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  REQUIRE(draws[0].probability == Approx(0.01));
  CheckChiSquare(CountDraws(&selector, &rng, 500, 64), weights);
  // The only item with a weight is drawn alone.
  UpdateOne(&selector, 33, 2);
  REQUIRE(CountDraws(&selector, &rng, 1, 64) == DrawCounts{{33, 64}});
}

TEST_CASE("items of one priority all have the smallest probability, to the last bit", "[unit]") {
  PrioritizedSelectorOptions options = With(0.6, 100);
  options.uniform_share = GENERATE(0.0, 0.3);
  PrioritizedSelector selector(options);
  for (uint32_t slot = 0; slot < 77; ++slot) {
    selector.Insert(slot, 0.37);
  }
  Rng rng(9);
  std::vector<Draw> draws(32);
  const double least = selector.MinProbability();
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  for (const Draw& draw : draws) {
    REQUIRE(draw.probability == least);
  }
}

TEST_CASE("the smallest probability of an item without a weight is its part of the uniform share", "[unit]") {
  PrioritizedSelectorOptions options = With(1, 10);
  options.uniform_share = 0.1;
  PrioritizedSelector selector(options);
  selector.Insert(0, 5);
  selector.Insert(1, 0);
  selector.Insert(2, 3);
  selector.Insert(3, 0);
  Rng rng(10);
  std::vector<Draw> draws(1000);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  double least = 1;
  for (const Draw& draw : draws) {
    least = std::min(least, draw.probability);
  }
  CHECK(least == 0.1 / 4);
  CHECK(selector.MinProbability() == least);
  selector.Remove(1);
  UpdateOne(&selector, 3, 1);
  CHECK(selector.MinProbability() == Approx(0.1 / 3 + 0.9 / 9));
}

TEST_CASE("the smallest probability is exact as items come and go", "[unit]") {
  PrioritizedSelector selector(With(0.6, 1 << 10));
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
      REQUIRE(selector.MinProbability() == Approx(least / sum).epsilon(1e-9));
    }
  }
}

TEST_CASE("a share of the draws is uniform, and probabilities say so", "[unit]") {
  PrioritizedSelectorOptions options = With(1, 16);
  options.uniform_share = 0.25;
  PrioritizedSelector selector(options);
  Rng rng(8);
  Weights probabilities;
  for (uint32_t slot = 0; slot < 10; ++slot) {
    selector.Insert(slot * 3, slot);
    probabilities[slot * 3] = 0.25 / 10 + 0.75 * slot / 45;
  }
  selector.Insert(50, 100);
  selector.Remove(50);
  REQUIRE(selector.MinProbability() == 0.25 / 10);
  std::vector<Draw> draws(7);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  for (const Draw& draw : draws) {
    REQUIRE(draw.probability == Approx(probabilities[draw.slot]));
  }
  CheckChiSquare(CountDraws(&selector, &rng, 20000, 3), probabilities);
}

TEST_CASE("independent draws of a batch vary as such draws do", "[unit]") {
  PrioritizedSelectorOptions options = With(1, 8);
  options.independent_draws = true;
  PrioritizedSelector selector(options);
  selector.Insert(0, 1);
  selector.Insert(1, 3);
  Rng rng(9);
  double variance = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const double excess = static_cast<double>(CountDraws(&selector, &rng, 1, 64)[0]) - 16;
    variance += excess * excess / kRounds;
  }
  REQUIRE(variance == Approx(64 * 0.25 * 0.75).epsilon(0.2));  // Stratified: below 1.
}

TEST_CASE("different items are drawn one after the other by what is left", "[unit]") {
  PrioritizedSelector selector(With(1, 8));
  const double weights[] = {1, 2, 3, 4};
  for (uint32_t i = 0; i < 4; ++i) {
    selector.Insert(i, weights[i]);
  }
  Rng rng(10);
  DrawCounts counts;  // By ordered pair.
  Weights probabilities;
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t j = 0; j < 4; ++j) {
      if (i != j) {
        probabilities[i * 4 + j] = weights[i] / 10 * weights[j] / (10 - weights[i]);
      }
    }
  }
  std::vector<Draw> draws(2);
  for (int round = 0; round < 20000; ++round) {
    selector.SampleDistinct(&rng, absl::MakeSpan(draws));
    REQUIRE(draws[1].probability == Approx(weights[draws[1].slot] / 10));
    ++counts[draws[0].slot * 4 + draws[1].slot];
  }
  CheckChiSquare(counts, probabilities);
  REQUIRE(selector.Sum() == 10);
  REQUIRE(selector.size() == 4);
}

TEST_CASE("if too few items have a weight the others complete the batch", "[unit]") {
  PrioritizedSelector selector(With(1, 8));
  for (uint32_t i = 0; i < 70; ++i) {
    selector.Insert(i, i == 67 ? 5 : 0);
  }
  Rng rng(11);
  DrawCounts counts;
  std::vector<Draw> draws(3);
  for (int round = 0; round < 6900; ++round) {
    selector.SampleDistinct(&rng, absl::MakeSpan(draws));
    REQUIRE(draws[0].slot == 67);
    REQUIRE(draws[1].slot != draws[2].slot);
    REQUIRE(draws[0].probability == 1);
    REQUIRE(draws[1].probability == 1.0 / 70);
    ++counts[draws[1].slot];
    ++counts[draws[2].slot];
  }
  Weights others;
  for (uint32_t i = 0; i < 70; ++i) {
    if (i != 67) {
      others[i] = 1;
    }
  }
  CheckChiSquare(counts, others);
  draws.resize(70);
  selector.SampleDistinct(&rng, absl::MakeSpan(draws));  // All of them.
  REQUIRE(selector.Sum() == 5);
  REQUIRE(CountDraws(&selector, &rng, 1, 4) == DrawCounts{{67, 4}});
}

}  // namespace waggle
