#include "replay_server/selectors/prioritized_selector.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/replay_server/selectors/selector_checks.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ChiSquare;
using testing::CountDraws;

PrioritizedSelectorOptions With(double exponent, int64_t expected_items) {
  PrioritizedSelectorOptions options;
  options.weight.exponent = exponent;
  options.expected_items = expected_items;
  return options;
}

// The word of std::mt19937_64's state that it gives away as `number`: its four steps undone, the last one first. Each
// leaves the bits on one side as they are, from which the others follow.
uint64_t Untemper(uint64_t number) {
  const auto undo = [&number](const auto& step) {
    uint64_t word = number;
    for (int i = 0; i < 64; ++i) {
      word = number ^ step(word);
    }
    number = word;
  };
  undo([](uint64_t word) { return word >> 43; });
  undo([](uint64_t word) { return (word << 37) & 0xfff7eee000000000U; });
  undo([](uint64_t word) { return (word << 17) & 0x71d67fffeda60000U; });
  undo([](uint64_t word) { return (word >> 29) & 0x5555555555555555U; });
  return number;
}

// A generator whose next draws are these.
Rng Giving(const std::vector<double>& uniform) {
  constexpr size_t kWords = 312;
  std::string state;
  for (size_t i = 0; i < kWords; ++i) {
    const double number = i < uniform.size() ? uniform[i] : 0;
    absl::StrAppend(&state, Untemper(static_cast<uint64_t>(number * 0x1.0p53) << 11), " ");
  }
  Rng rng(1);
  REQUIRE_OK(rng.Restore(absl::StrCat(state, "0")));
  Rng copy = rng;
  for (const double number : uniform) {
    REQUIRE(copy.Uniform() == Approx(number));
  }
  return rng;
}

void UpdateOne(Selector* selector, uint32_t slot, double priority) {
  selector->Update(absl::MakeConstSpan(&slot, 1), absl::MakeConstSpan(&priority, 1));
}

}  // namespace

TEST_CASE("weights are priorities to the power of the exponent", "[unit]") {
  PrioritizedSelector selector(With(0.6, 16));
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

// Machin's: epsilon 0.01, exponent 0.6, beta 0.4.
TEST_CASE("each of a batch is drawn from its own part of the sum, with the weight that its probability has", "[unit]") {
  PrioritizedSelectorOptions options = With(0.6, 16);
  options.weight.epsilon = 0.01;
  PrioritizedSelector selector(options);
  const double errors[] = {0, 0.5, 1, 2, 10};
  for (uint32_t i = 0; i < 5; ++i) {
    selector.Insert(i, errors[i]);
  }
  REQUIRE(selector.Sum() == Approx(7.240442).epsilon(1e-6));
  Rng rng = Giving({0.1, 0.5, 0.9, 0.3});
  std::vector<Draw> draws(4);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  const uint32_t leaves[] = {1, 3, 4, 4};
  const double weights[] = {1, 0.719531, 0.489455, 0.489455};
  for (size_t i = 0; i < 4; ++i) {
    CHECK(draws[i].slot == leaves[i]);
    CHECK(std::pow(draws[0].probability / draws[i].probability, 0.4) == Approx(weights[i]).epsilon(1e-5));
  }
}

TEST_CASE("items are drawn as often as their weights say", "[unit]") {
  PrioritizedSelector selector(With(0.7, 1000));
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
  PrioritizedSelector selector(With(1, 8));
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
  PrioritizedSelector selector(With(0.6, 1000));
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
  PrioritizedSelector selector(With(0, 4));
  selector.Insert(0, 0);
  selector.Insert(1, 1000);
  REQUIRE(selector.Sum() == 2);
  REQUIRE(selector.MinProbability() == 0.5);
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

TEST_CASE("an item that weighs nothing has its part of the uniform share as the smallest probability", "[unit]") {
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

TEST_CASE("removed and updated items are drawn by what they are now", "[unit]") {
  PrioritizedSelector selector(With(1, 4));
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
  for (const uint32_t slot : {0, 1, 2}) {
    selector.Remove(slot);
  }
  REQUIRE(selector.size() == 0);
  REQUIRE(selector.Sum() == 0);
  REQUIRE(selector.MinProbability() == 0);
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

TEST_CASE("a selector takes more slots than were expected", "[unit]") {
  PrioritizedSelector selector(With(1, 2));
  for (uint32_t slot = 0; slot < 1000; ++slot) {
    selector.Insert(slot, 1);
  }
  REQUIRE(selector.Sum() == 1000);
}

TEST_CASE("epsilon is added before the exponent is applied", "[unit]") {
  PrioritizedSelectorOptions options = With(0.6, 16);
  options.weight.epsilon = 0.01;
  PrioritizedSelector selector(options);
  const double priorities[] = {0, 0.5, 1, 2, 10};
  for (uint32_t i = 0; i < 5; ++i) {
    selector.Insert(i, priorities[i]);
  }
  REQUIRE(selector.Sum() == Approx(7.240442).epsilon(1e-6));
}

TEST_CASE("a share of the draws is uniform, and probabilities say so", "[unit]") {
  PrioritizedSelectorOptions options = With(1, 16);
  options.uniform_share = 0.25;
  PrioritizedSelector selector(options);
  Rng rng(8);
  std::map<uint32_t, double> probabilities;
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
  // 9 degrees of freedom: 34 is exceeded once in 10 000 times.
  REQUIRE(ChiSquare(CountDraws(&selector, &rng, 20000, 3), probabilities) < 34);
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
  std::map<uint32_t, int64_t> counts;  // Of pairs in their order.
  std::map<uint32_t, double> probabilities;
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
  REQUIRE(ChiSquare(counts, probabilities) < 37.4);  // 11 degrees of freedom, 1 in 10 000.
  REQUIRE(selector.Sum() == 10);
  REQUIRE(selector.size() == 4);
}

TEST_CASE("where too few items weigh something the others complete the batch", "[unit]") {
  PrioritizedSelector selector(With(1, 8));
  for (uint32_t i = 0; i < 70; ++i) {
    selector.Insert(i, i == 67 ? 5 : 0);
  }
  Rng rng(11);
  std::map<uint32_t, int64_t> counts;
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
  REQUIRE(counts.count(67) == 0);
  std::map<uint32_t, double> probabilities;
  for (uint32_t i = 0; i < 70; ++i) {
    probabilities[i] = i == 67 ? 0 : 1.0 / 69;
  }
  REQUIRE(ChiSquare(counts, probabilities) < 117);  // 68 degrees of freedom, 1 in 10 000.
  draws.resize(70);
  selector.SampleDistinct(&rng, absl::MakeSpan(draws));  // All of them.
  REQUIRE(selector.Sum() == 5);
  REQUIRE(CountDraws(&selector, &rng, 1, 4) == std::map<uint32_t, int64_t>{{67, 4}});
}

}  // namespace waggle
