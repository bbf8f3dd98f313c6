#include "replay_server/table/fifo_selector.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

uint32_t Oldest(FifoSelector* selector) {
  Rng rng(1);
  Draw draw;
  selector->SampleBatch(&rng, absl::MakeSpan(&draw, 1));
  REQUIRE(draw.probability == 1);
  return draw.slot;
}

}  // namespace

TEST_CASE("a first-in first-out selector picks the item that came first, whatever its slot", "[unit]") {
  FifoSelector selector;
  for (const uint32_t slot : {7, 1, 4, 0}) {
    selector.Insert(slot, 1);
  }
  REQUIRE(Oldest(&selector) == 7);
  selector.Remove(4);  // From the middle.
  selector.Remove(7);
  REQUIRE(Oldest(&selector) == 1);
  selector.Insert(7, 1);  // The slot is used again: now it is the newest.
  selector.Remove(1);
  REQUIRE(Oldest(&selector) == 0);
  selector.Remove(0);
  REQUIRE(Oldest(&selector) == 7);
  selector.Insert(9, 1);
  selector.Remove(9);  // From the end.
  selector.Insert(3, 1);
  selector.Remove(7);
  REQUIRE(Oldest(&selector) == 3);
  REQUIRE(selector.size() == 1);
  REQUIRE(selector.Sum() == 1);
  REQUIRE(selector.MinProbability() == 1);
  selector.Clear();
  REQUIRE(selector.size() == 0);
  REQUIRE(selector.MinProbability() == 0);
}

}  // namespace waggle
