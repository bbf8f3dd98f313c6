#include "replay_server/selectors/uniform_selector.h"

#include <map>

#include "tests/replay_server/selectors/selector_checks.h"
#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("a uniform selector draws every item with the same probability", "[unit]") {
  UniformSelector selector;
  Rng rng(1);
  for (uint32_t slot = 0; slot < 60; ++slot) {
    selector.Insert(slot, slot);
  }
  for (uint32_t slot = 0; slot < 60; slot += 3) {
    selector.Remove(slot);
  }
  std::map<uint32_t, double> probabilities;
  for (uint32_t slot = 0; slot < 60; ++slot) {
    probabilities[slot] = slot % 3 == 0 ? 0 : 1.0 / 40;
  }
  REQUIRE(selector.size() == 40);
  REQUIRE(selector.Sum() == 40);
  REQUIRE(selector.MinProbability() == 1.0 / 40);
  // 39 degrees of freedom: 81 is exceeded once in 10 000 times.
  REQUIRE(testing::ChiSquare(testing::CountDraws(&selector, &rng, 200, 100), probabilities) < 81);
  Draw draw;
  selector.SampleBatch(&rng, absl::MakeSpan(&draw, 1));
  REQUIRE(draw.probability == 1.0 / 40);
}

TEST_CASE("a uniform selector can be emptied and filled again", "[unit]") {
  UniformSelector selector;
  Rng rng(2);
  selector.Insert(5, 1);
  selector.Insert(2, 1);
  selector.Remove(2);
  selector.Remove(5);
  REQUIRE(selector.size() == 0);
  REQUIRE(selector.MinProbability() == 0);
  selector.Insert(5, 1);
  REQUIRE(testing::CountDraws(&selector, &rng, 1, 10) == std::map<uint32_t, int64_t>{{5, 10}});
}

TEST_CASE("different items are drawn uniformly, in every order", "[unit]") {
  UniformSelector selector;
  Rng rng(3);
  for (uint32_t slot = 0; slot < 4; ++slot) {
    selector.Insert(slot, 1);
  }
  std::map<uint32_t, int64_t> counts;
  std::map<uint32_t, double> probabilities;
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t j = 0; j < 4; ++j) {
      probabilities[i * 4 + j] = i == j ? 0 : 1.0 / 12;
    }
  }
  Draw draws[2];
  for (int round = 0; round < 12000; ++round) {
    selector.SampleDistinct(&rng, draws);
    REQUIRE(draws[0].probability == 0.25);
    ++counts[draws[0].slot * 4 + draws[1].slot];
  }
  REQUIRE(testing::ChiSquare(counts, probabilities) < 37.4);  // 11 degrees of freedom, 1 in 10 000.
  selector.Remove(2);
  REQUIRE(testing::CountDraws(&selector, &rng, 1, 100).count(2) == 0);
}

}  // namespace waggle
