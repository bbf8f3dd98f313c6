#include "replay_server/service/batch_memory.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr size_t kSize = size_t{1} << 20;

TEST_CASE("Blocks of batches are aligned, distinct while in use, and reused for batches of their size", "[unit]") {
  const auto memory = std::make_shared<BatchMemory>(4 * kSize);
  auto first = memory->Take(kSize);
  auto second = memory->Take(kSize);
  auto third = memory->Take(kSize + 64);
  for (const auto* block : {&first, &second, &third}) {
    CHECK(reinterpret_cast<uintptr_t>(block->get()) % 64 == 0);
    std::memset(block->get(), 1, kSize);
  }
  CHECK(first != second);
  char* const first_bytes = first.get();
  char* const second_bytes = second.get();
  first.reset();
  second.reset();
  const auto other = memory->Take(2 * kSize);
  CHECK(other.get() != first_bytes);
  CHECK(other.get() != second_bytes);
  // The newest block first.
  const auto again = memory->Take(kSize);
  const auto too = memory->Take(kSize);
  CHECK(again.get() == second_bytes);
  CHECK(too.get() == first_bytes);
}

TEST_CASE("At most max_kept_bytes are kept, of the newest blocks", "[unit]") {
  const auto memory = std::make_shared<BatchMemory>(2 * kSize);
  std::vector<std::shared_ptr<char>> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(memory->Take(kSize));
  }
  std::vector<char*> bytes;
  for (auto& block : blocks) {
    bytes.push_back(block.get());
    block.reset();
  }
  const auto newest = memory->Take(kSize);
  const auto next = memory->Take(kSize);
  CHECK(newest.get() == bytes[3]);
  CHECK(next.get() == bytes[2]);
}

TEST_CASE("A block that is too large to be kept, or small, can be taken too", "[unit]") {
  const auto memory = std::make_shared<BatchMemory>(kSize);
  for (const size_t size : {size_t{1}, size_t{100}, 4 * kSize}) {
    for (int i = 0; i < 3; ++i) {
      const auto block = memory->Take(size);
      std::memset(block.get(), i, size);
      CHECK(block.get()[size - 1] == i);
    }
  }
}

TEST_CASE("A block may outlive its BatchMemory", "[unit]") {
  std::shared_ptr<char> block;
  {
    const auto memory = std::make_shared<BatchMemory>(kSize);
    block = memory->Take(kSize);
  }
  std::memset(block.get(), 7, kSize);
  CHECK(block.get()[kSize - 1] == 7);
}

}  // namespace
}  // namespace waggle
