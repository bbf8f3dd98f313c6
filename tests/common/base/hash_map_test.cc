#include "common/base/hash_map.h"

#include <cstdint>
#include <memory>

#include "tests/support/catch.h"
#include "tests/support/each_failure.h"

namespace waggle {
namespace {

TEST_CASE("A map that cannot grow for want of memory is as it was, and grows later", "[unit]") {
  for (uint64_t size = 0; size < 200; ++size) {
    testing::ForEachFailure([size](testing::Failure* failure) {
      HashMap<uint64_t, std::unique_ptr<uint64_t>> map;
      for (uint64_t key = 0; key < size; ++key) {
        map[key] = std::make_unique<uint64_t>(key);
      }
      const bool grown = failure->Let([&] { map[size]; });
      REQUIRE(map.size() == size + (grown ? 1 : 0));
      map[size] = std::make_unique<uint64_t>(size);
      for (uint64_t key = 0; key <= size; ++key) {
        REQUIRE(*map.at(key) == key);
      }
      REQUIRE(map.find(size + 1) == map.end());
    });
  }
}

}  // namespace
}  // namespace waggle
