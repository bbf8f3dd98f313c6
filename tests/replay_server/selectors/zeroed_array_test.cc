#include "replay_server/selectors/zeroed_array.h"

#include <cstdint>
#include <utility>

#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("a new array is zero and aligned, whatever its size", "[unit]") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 17, (size_t{1} << 19) + 3}) {
    const ZeroedArray array(size);
    REQUIRE(array.size() == size);
    REQUIRE(reinterpret_cast<uintptr_t>(array.data()) % 64 == 0);
    bool all_zero = true;
    for (size_t i = 0; i < size; ++i) {
      all_zero = all_zero && array.data()[i] == 0;
    }
    REQUIRE(all_zero);
  }
}

TEST_CASE("moving an array moves its elements", "[unit]") {
  ZeroedArray array(10);
  array.data()[9] = 4;
  ZeroedArray moved(std::move(array));
  ZeroedArray assigned;
  assigned = std::move(moved);
  REQUIRE(assigned.size() == 10);
  REQUIRE(assigned.data()[9] == 4);
}

}  // namespace waggle
