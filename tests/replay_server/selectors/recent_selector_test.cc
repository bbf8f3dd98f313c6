#include "replay_server/selectors/recent_selector.h"

#include <cmath>
#include <map>
#include <vector>

#include "tests/replay_server/selectors/selector_checks.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CheckChiSquare;
using testing::CountDraws;
using testing::Weights;

RecentSelectorOptions Options(double exponent, double share, int64_t items) {
  RecentSelectorOptions options;
  options.weight.exponent = exponent;
  options.share = share;
  options.items = items;
  options.expected_items = 4;
  return options;
}

}  // namespace

TEST_CASE("a share of the draws is made among the newest items", "[unit]") {
  for (const double exponent : {0.0, 1.0}) {
    for (const double share : {0.3, 1.0}) {
      RecentSelector selector(Options(exponent, share, 20));
      Rng rng(1);
      Weights weights;
      // Slots are used again, items leave from the middle, and the selector grows and moves items.
      std::vector<uint32_t> order;
      for (uint32_t i = 0; i < 500; ++i) {
        const uint32_t slot = (i * 37) % 60;
        if (weights.count(slot) > 0) {
          selector.Remove(slot);
          order.erase(std::find(order.begin(), order.end(), slot));
        }
        selector.Insert(slot, i % 5);
        weights[slot] = exponent == 0 ? 1 : i % 5;
        order.push_back(slot);
      }
      const uint32_t changed = order[10];
      const double priority = 9;
      selector.Update(absl::MakeConstSpan(&changed, 1), absl::MakeConstSpan(&priority, 1));
      weights[changed] = exponent == 0 ? 1 : 9;
      double sum = 0;
      double recent = 0;
      for (size_t i = 0; i < order.size(); ++i) {
        sum += weights[order[i]];
        recent += i + 20 >= order.size() ? weights[order[i]] : 0;
      }
      Weights shares;
      double least = 1;  // The least part of all weights of an item that can be drawn.
      for (size_t i = 0; i < order.size(); ++i) {
        const double weight = weights[order[i]];
        const double drawn = (1 - share) * weight / sum + (i + 20 >= order.size() ? share * weight / recent : 0);
        if (drawn > 0) {
          shares[order[i]] = drawn;
          least = std::min(least, weight / sum);
        }
      }
      CAPTURE(exponent, share);
      REQUIRE(selector.size() == 60);
      REQUIRE(selector.Sum() == sum);
      std::vector<Draw> draws(50);
      selector.SampleBatch(&rng, absl::MakeSpan(draws));
      for (const Draw& draw : draws) {
        REQUIRE(draw.probability == Approx(weights[draw.slot] / sum));
      }
      REQUIRE(selector.MinProbability() == Approx(least));
      CheckChiSquare(CountDraws(&selector, &rng, 4000, 5), shares);
    }
  }
}

TEST_CASE("importance weights undo priorities and keep the emphasis on the newest items", "[unit]") {
  RecentSelector selector(Options(1, 0.5, 2));
  Rng rng(6);
  const std::vector<double> priorities = {1, 3, 1, 3};  // Slots 2 and 3 are the newest.
  for (uint32_t slot = 0; slot < 4; ++slot) {
    selector.Insert(slot, priorities[slot]);
  }
  std::map<uint32_t, double> weighed;  // By slot: the sum of its draws' importance weights, with an exponent of 1.
  std::vector<Draw> draws(8);
  for (int batch = 0; batch < 4000; ++batch) {
    selector.SampleBatch(&rng, absl::MakeSpan(draws));
    for (const Draw& draw : draws) {
      weighed[draw.slot] += 1 / (4 * draw.probability);
    }
  }
  CHECK(weighed[1] / weighed[0] == Approx(1).epsilon(0.05));
  CHECK(weighed[3] / weighed[2] == Approx(1).epsilon(0.05));
  // An old item has its part of half of all draws; a new one also has its part of the other half.
  CHECK(weighed[2] / weighed[0] == Approx(3).epsilon(0.05));
}

TEST_CASE("the newest items are drawn, with a probability, if their weights are all 0", "[unit]") {
  RecentSelector selector(Options(1, 0.5, 2));
  Rng rng(7);
  for (uint32_t slot = 0; slot < 4; ++slot) {
    selector.Insert(slot, slot < 2 ? 5 : 0);
  }
  std::vector<Draw> draws(8);
  selector.SampleBatch(&rng, absl::MakeSpan(draws));
  for (const Draw& draw : draws) {
    CHECK(draw.probability == (draw.slot < 2 ? 0.5 : 0.25));
  }
  CHECK(selector.MinProbability() == 0.25);
}

TEST_CASE("the newest items become fewer through a period of batches, by the decay", "[unit]") {
  RecentSelectorOptions options = Options(0, 1, 10);
  options.decay = 0.996;
  options.period = 50;
  RecentSelector selector(options);
  Rng rng(2);
  for (uint32_t slot = 0; slot < 1000; ++slot) {
    selector.Insert(slot, 1);
  }
  Draw draw;
  for (int batch = 0; batch < 120; ++batch) {
    const double newest = 1000 * std::pow(0.996, 1000.0 * (batch % 50) / 50);
    REQUIRE(selector.newest() == std::max<int64_t>(10, static_cast<int64_t>(newest)));
    selector.SampleBatch(&rng, absl::MakeSpan(&draw, 1));
    REQUIRE(static_cast<double>(draw.slot) >= 1000 - std::max(10.0, newest) - 1);
  }
}

TEST_CASE("a selector with fewer items than the newest draws from all of them", "[unit]") {
  RecentSelector selector(Options(1, 1, 100));
  Rng rng(3);
  selector.Insert(5, 0);
  Draw draw;
  selector.SampleBatch(&rng, absl::MakeSpan(&draw, 1));  // Its weight is 0.
  REQUIRE(draw.slot == 5);
  REQUIRE(draw.probability == 1);
  selector.Insert(6, 2);
  REQUIRE(CountDraws(&selector, &rng, 1, 10) == testing::DrawCounts{{6, 10}});
  selector.Remove(6);
  selector.Remove(5);
  REQUIRE(selector.size() == 0);
  REQUIRE(selector.MinProbability() == 0);
}

TEST_CASE("drawing different items leaves all of them in the selector", "[unit]") {
  RecentSelector selector(Options(1, 0.5, 2));
  Rng rng(4);
  for (uint32_t slot = 0; slot < 5; ++slot) {
    selector.Insert(slot, slot);
  }
  std::vector<Draw> draws(5);
  selector.SampleDistinct(&rng, absl::MakeSpan(draws));
  std::map<uint32_t, int> seen;
  for (const Draw& draw : draws) {
    ++seen[draw.slot];
  }
  REQUIRE(seen.size() == 5);
  REQUIRE(selector.Sum() == 10);
}

}  // namespace waggle
