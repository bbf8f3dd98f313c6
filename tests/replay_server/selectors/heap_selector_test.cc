#include "replay_server/selectors/heap_selector.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Known {
  uint32_t slot = 0;
  double priority = 0;
};

// The item that a heap must pick; `known` is in the order of insertion.
const Known& Best(const std::vector<Known>& known, bool highest) {
  return *std::min_element(known.begin(), known.end(), [highest](const Known& a, const Known& b) {
    return highest ? a.priority > b.priority : a.priority < b.priority;
  });
}

}  // namespace

TEST_CASE("a heap picks the oldest item with the lowest or highest priority", "[unit]") {
  for (const bool highest : {false, true}) {
    HeapSelector selector(highest ? HeapSelector::First::kHighest : HeapSelector::First::kLowest);
    Rng rng(highest ? 1 : 2);
    std::vector<Known> known;
    std::vector<uint32_t> free;
    for (uint32_t slot = 0; slot < 50; ++slot) {
      free.push_back(slot);
    }
    for (int step = 0; step < 20000; ++step) {
      const uint64_t choice = rng.UniformInt(3);
      const auto priority = static_cast<double>(rng.UniformInt(8));
      if ((choice == 0 || known.empty()) && !free.empty()) {
        std::swap(free[rng.UniformInt(free.size())], free.back());
        known.push_back({free.back(), priority});
        selector.Insert(free.back(), priority);
        free.pop_back();
      } else {
        const size_t at = rng.UniformInt(known.size());
        const uint32_t slot = known[at].slot;
        if (choice == 1) {
          known[at].priority = priority;
          selector.Update(absl::MakeConstSpan(&slot, 1), absl::MakeConstSpan(&priority, 1));
        } else {
          free.push_back(slot);
          known.erase(known.begin() + static_cast<std::ptrdiff_t>(at));
          selector.Remove(slot);
        }
      }
      REQUIRE(selector.size() == static_cast<int64_t>(known.size()));
      REQUIRE(selector.MinProbability() == (known.empty() ? 0 : 1));
      if (!known.empty()) {
        Draw draws[2];
        selector.SampleBatch(&rng, draws);
        REQUIRE(draws[0].slot == Best(known, highest).slot);
        REQUIRE(draws[1].slot == draws[0].slot);
        REQUIRE(draws[0].probability == 1);
      }
    }
  }
}

}  // namespace waggle
