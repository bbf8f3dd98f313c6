#include "replay_server/table/uniform_selector.h"

#include <map>

#include "tests/replay_server/table/selector_checks.h"
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
  selector.Clear();
  REQUIRE(selector.size() == 0);
}

}  // namespace waggle
