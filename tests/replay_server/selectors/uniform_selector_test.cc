#include "replay_server/selectors/uniform_selector.h"

#include "tests/replay_server/selectors/selector_checks.h"
#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("a uniform selector draws every item with the same probability", "[unit]") {
  UniformSelector selector;
  Rng rng(1);
  testing::Weights weights;
  for (uint32_t slot = 0; slot < 60; ++slot) {
    selector.Insert(slot, slot);
  }
  for (uint32_t slot = 0; slot < 60; ++slot) {
    if (slot % 3 == 0) {
      selector.Remove(slot);
    } else {
      weights[slot] = 1;
    }
  }
  REQUIRE(selector.size() == 40);
  REQUIRE(selector.Sum() == 40);
  REQUIRE(selector.MinProbability() == 1.0 / 40);
  testing::CheckChiSquare(testing::CountDraws(&selector, &rng, 200, 100), weights);
  Draw draw;
  selector.SampleBatch(&rng, absl::MakeSpan(&draw, 1));
  REQUIRE(draw.probability == 1.0 / 40);
}

TEST_CASE("different items are drawn uniformly, in every order", "[unit]") {
  UniformSelector selector;
  Rng rng(3);
  testing::DrawCounts counts;  // By ordered pair.
  testing::Weights weights;
  for (uint32_t slot = 0; slot < 4; ++slot) {
    selector.Insert(slot, 1);
    for (uint32_t second = 0; second < 4; ++second) {
      if (slot != second) {
        weights[slot * 4 + second] = 1;
      }
    }
  }
  Draw draws[2];
  for (int round = 0; round < 12000; ++round) {
    selector.SampleDistinct(&rng, draws);
    REQUIRE(draws[0].probability == 0.25);
    ++counts[draws[0].slot * 4 + draws[1].slot];
  }
  testing::CheckChiSquare(counts, weights);
}

}  // namespace waggle
