#include "common/tensor/buffer_pool.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "common/base/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a buffer comes back once its last owner let go, and not before", "[unit]") {
  BufferPool pool(1000, 4);
  std::shared_ptr<char> first = pool.Take();
  const char* const address = first.get();
  std::shared_ptr<const void> other_owner = first;
  first.reset();
  REQUIRE(pool.Take().get() != address);
  other_owner.reset();
  // The one taken above was given back first.
  const auto a = pool.Take();
  const auto b = pool.Take();
  REQUIRE((a.get() == address || b.get() == address));
  REQUIRE(a.get() != b.get());
}

TEST_CASE("buffers are aligned, outlive their pool and may be let go on any thread", "[unit]") {
  std::vector<std::shared_ptr<char>> buffers;
  {
    BufferPool pool(100, 1);
    for (int i = 0; i < 4; ++i) {
      buffers.push_back(pool.Take());
      REQUIRE(reinterpret_cast<uintptr_t>(buffers.back().get()) % 64 == 0);
      std::memset(buffers.back().get(), i, 100);
    }
  }
  Thread("owner", [&buffers] { buffers.resize(2); }).Join();
  REQUIRE(buffers[1].get()[99] == 1);
}

}  // namespace
}  // namespace waggle
