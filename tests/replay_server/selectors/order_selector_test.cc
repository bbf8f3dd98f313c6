#include "replay_server/selectors/order_selector.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

uint32_t Picked(OrderSelector* selector) {
  Rng rng(1);
  Draw draw;
  selector->SampleBatch(&rng, absl::MakeSpan(&draw, 1));
  REQUIRE(draw.probability == 1);
  return draw.slot;
}

}  // namespace

TEST_CASE("a first-in first-out selector picks the item that came first, whatever its slot", "[unit]") {
  OrderSelector selector(OrderSelector::First::kOldest);
  for (const uint32_t slot : {7, 1, 4, 0}) {
    selector.Insert(slot, 1);
  }
  REQUIRE(Picked(&selector) == 7);
  selector.Remove(4);  // From the middle.
  selector.Remove(7);
  REQUIRE(Picked(&selector) == 1);
  selector.Insert(7, 1);  // The slot is used again: now it is the newest.
  selector.Remove(1);
  REQUIRE(Picked(&selector) == 0);
  selector.Remove(0);
  REQUIRE(Picked(&selector) == 7);
  selector.Insert(9, 1);
  selector.Remove(9);  // From the end.
  selector.Insert(3, 1);
  selector.Remove(7);
  REQUIRE(Picked(&selector) == 3);
  REQUIRE(selector.size() == 1);
  REQUIRE(selector.Sum() == 1);
  REQUIRE(selector.MinProbability() == 1);
  selector.Remove(3);
  REQUIRE(selector.size() == 0);
  REQUIRE(selector.MinProbability() == 0);
}

TEST_CASE("a last-in first-out selector picks the item that came last, whatever its slot", "[unit]") {
  OrderSelector selector(OrderSelector::First::kNewest);
  for (const uint32_t slot : {7, 1, 4, 0}) {
    selector.Insert(slot, 1);
  }
  REQUIRE(Picked(&selector) == 0);
  selector.Remove(0);
  selector.Remove(7);
  REQUIRE(Picked(&selector) == 4);
  selector.Insert(7, 1);
  REQUIRE(Picked(&selector) == 7);
  selector.Remove(7);
  selector.Remove(4);
  REQUIRE(Picked(&selector) == 1);
}

TEST_CASE("different items are picked in order from their end", "[unit]") {
  Rng rng(1);
  for (const auto first : {OrderSelector::First::kOldest, OrderSelector::First::kNewest}) {
    OrderSelector selector(first);
    for (const uint32_t slot : {3, 1, 2}) {
      selector.Insert(slot, 1);
    }
    Draw draws[3];
    selector.SampleDistinct(&rng, draws);
    const bool oldest = first == OrderSelector::First::kOldest;
    REQUIRE(draws[0].slot == (oldest ? 3 : 2));
    REQUIRE(draws[1].slot == 1);
    REQUIRE(draws[2].slot == (oldest ? 2 : 3));
    selector.SampleDistinct(&rng, absl::MakeSpan(draws, 1));
    REQUIRE(draws[0].slot == (oldest ? 3 : 2));
  }
}

}  // namespace waggle
