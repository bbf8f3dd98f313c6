#include "common/base/tensor/buffer_pool.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Blocks are aligned, distinct while in use, and used again after", "[unit]") {
  BufferPool pool(1'000, 2);
  std::set<const char*> first;
  {
    std::vector<std::shared_ptr<char>> blocks;
    for (int i = 0; i < 2; ++i) {
      blocks.push_back(pool.Take());
      std::memset(blocks.back().get(), i, 1'000);
      CHECK(reinterpret_cast<uintptr_t>(blocks.back().get()) % 64 == 0);
      first.insert(blocks.back().get());
    }
    CHECK(first.size() == 2);
  }
  const auto again = pool.Take();
  const auto too = pool.Take();
  CHECK(again != too);
  CHECK(first.count(again.get()) == 1);
  CHECK(first.count(too.get()) == 1);
}

TEST_CASE("A block may outlive its pool, and more may be in use than are kept", "[unit]") {
  std::vector<std::shared_ptr<char>> blocks;
  {
    BufferPool pool(100, 1);
    for (int i = 0; i < 10; ++i) {
      blocks.push_back(pool.Take());
      std::memset(blocks.back().get(), i, 100);
    }
  }
  for (int i = 0; i < 10; ++i) {
    CHECK(blocks[i].get()[99] == i);
  }
}

}  // namespace
}  // namespace waggle
