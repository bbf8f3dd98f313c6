#include "replay_server/selectors/slot_order.h"

#include <algorithm>
#include <deque>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

void RequireSame(const SlotOrder& order, const std::deque<uint32_t>& wanted) {
  REQUIRE(order.size() == static_cast<int64_t>(wanted.size()));
  if (wanted.empty()) {
    return;
  }
  REQUIRE(order.oldest() == wanted.front());
  REQUIRE(order.newest() == wanted.back());
  std::vector<uint32_t> slots;
  order.Oldest(wanted.size(), &slots);
  REQUIRE(std::equal(slots.begin(), slots.end(), wanted.begin(), wanted.end()));
  order.Newest((wanted.size() + 1) / 2, &slots);
  REQUIRE(slots.size() == (wanted.size() + 1) / 2);
  REQUIRE(std::equal(slots.begin(), slots.end(), wanted.rbegin()));
}

}  // namespace

TEST_CASE("slots keep the order in which they were added, whichever slot leaves", "[unit]") {
  constexpr uint32_t kSlots = 200;
  // How often the oldest slot leaves, and how often the newest. Others leave at random.
  const auto [oldest, newest] =
      GENERATE(std::make_pair(1.0, 0.0), std::make_pair(0.0, 1.0), std::make_pair(0.4, 0.4), std::make_pair(0.0, 0.0));
  Rng rng(7);
  SlotOrder order;
  std::deque<uint32_t> wanted;
  std::vector<uint32_t> free;
  for (uint32_t slot = kSlots; slot > 0; --slot) {
    free.push_back(slot - 1);
  }
  for (int step = 0; step < 4000; ++step) {
    const bool fill = step / 500 % 2 == 0;  // It runs empty at times.
    if (!free.empty() && (wanted.empty() || rng.Uniform() < (fill ? 0.7 : 0.3))) {
      wanted.push_back(free.back());
      free.pop_back();
      order.Add(wanted.back());
    } else if (!wanted.empty()) {
      const double which = rng.Uniform();
      const auto leaves = which < oldest ? wanted.begin()
                          : which < oldest + newest
                              ? wanted.end() - 1
                              : wanted.begin() + static_cast<ptrdiff_t>(rng.UniformInt(wanted.size()));
      order.Remove(*leaves);
      free.push_back(*leaves);
      wanted.erase(leaves);
    }
    RequireSame(order, wanted);
  }
}

}  // namespace waggle
