#include "replay_server/writers/writer_memory.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("What all writers need is never more than the limit, and what is refused is not counted", "[unit]") {
  WriterMemory memory(100);
  CHECK(memory.TryNeed(60));
  CHECK_FALSE(memory.TryNeed(41));
  CHECK(memory.needed() == 60);
  CHECK(memory.TryNeed(40));
  CHECK_FALSE(memory.TryNeed(1));
  memory.Need(-30);
  CHECK(memory.TryNeed(30));
  memory.Need(50);  // Restored.
  CHECK_FALSE(memory.TryNeed(1));
  CHECK(memory.needed() == 150);
}

TEST_CASE("Memory is tight where blocks keep more alive than all writers may need", "[unit]") {
  WriterMemory memory(100);
  memory.Hold(100);
  CHECK_FALSE(memory.tight());
  memory.Hold(1);
  CHECK(memory.tight());
  memory.Hold(-1);
  CHECK_FALSE(memory.tight());
  CHECK(memory.held() == 100);
}

TEST_CASE("Many writers at once have no more than the limit", "[unit]") {
  constexpr int64_t kWriters = 4;
  constexpr int64_t kLimit = 1000;
  WriterMemory memory(kLimit);
  std::atomic<int64_t> granted{0};
  std::vector<std::thread> writers;
  for (int64_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&] {
      for (int64_t i = 0; i < kLimit; ++i) {
        granted += memory.TryNeed(1) ? 1 : 0;
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  CHECK(granted == kLimit);
  CHECK(memory.needed() == kLimit);
}

}  // namespace
}  // namespace waggle
