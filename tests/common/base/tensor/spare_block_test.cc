#include "common/base/tensor/spare_block.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A block is handed out again only once it is unused", "[unit]") {
  SpareBlock spare;
  std::shared_ptr<char> used = spare.Take(1'000);
  std::shared_ptr<char> other = spare.Take(1'000);
  const char* const first = used.get();
  CHECK(other.get() != first);
  used = nullptr;
  CHECK(spare.Take(1'000).get() == first);
}

TEST_CASE("A block has the requested size, whatever the last one had", "[unit]") {
  SpareBlock spare;
  for (const size_t bytes : {10, 2'000, 10, 0, 3'000, 3'000}) {
    const std::shared_ptr<char> block = spare.Take(bytes);
    std::memset(block.get(), 1, bytes);  // The sanitizers see a block that is too small.
    CHECK(reinterpret_cast<uintptr_t>(block.get()) % 64 == 0);
  }
}

TEST_CASE("A block may outlive its source", "[unit]") {
  std::shared_ptr<char> block;
  {
    SpareBlock spare;
    block = spare.Take(100);
  }
  std::memset(block.get(), 7, 100);
  CHECK(block.get()[99] == 7);
}

}  // namespace
}  // namespace waggle
