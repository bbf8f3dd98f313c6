#include "replay_server/items/numbered_values.h"

#include <map>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("a value has one number while it is used, and numbers are used again", "[unit]") {
  NumberedValues values;
  Rng rng(3);
  std::multimap<uint64_t, uint32_t> used;
  uint32_t largest = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (used.size() < 50 && rng.Uniform() < 0.6) {
      const uint64_t value = rng.UniformInt(20);
      const uint32_t number = values.Use(value);
      largest = std::max(largest, number);
      used.emplace(value, number);
    } else if (!used.empty()) {
      const auto which = std::next(used.begin(), static_cast<ptrdiff_t>(rng.UniformInt(used.size())));
      values.Drop(which->second);
      used.erase(which);
    }
    for (const auto& [value, number] : used) {
      REQUIRE(values.value(number) == value);
      REQUIRE(used.find(value)->second == number);
    }
  }
  REQUIRE(largest < 20);
}

}  // namespace waggle
