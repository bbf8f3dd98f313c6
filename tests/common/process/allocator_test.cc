#include "common/process/allocator.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "tests/support/catch.h"

// A sanitizer brings an allocator of its own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

namespace waggle {
namespace {

int64_t PageFaults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST_CASE("Large blocks are taken again from what was freed, without a page fault for each page", "[unit]") {
  KeepFreedMemory();
  constexpr size_t kBytes = 16 << 20;
  constexpr int64_t kPages = kBytes / 4096;
  int64_t before = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 1) {
      before = PageFaults();
    }
    const std::unique_ptr<char[]> block(new char[kBytes]);
    std::memset(block.get(), i, kBytes);
    REQUIRE(block[kBytes - 1] == i);
  }
  CHECK(PageFaults() - before < kPages);
}

TEST_CASE("What many threads have freed goes back to the system where it is too much", "[unit]") {
  KeepFreedMemory();
  constexpr int kThreads = 8;
  constexpr int64_t kBytes = 8 << 20;
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    int64_t all = 0;
    int64_t pages = 0;
    REQUIRE(file >> all >> pages);
    return pages * 4096;
  };
  const StopToken all_have;
  std::atomic<int> have{0};
  std::vector<std::unique_ptr<char[]>> last(kThreads);  // What lies above it cannot go back by itself.
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.push_back(std::make_unique<Thread>("frees", [&, i] {
        std::vector<std::unique_ptr<char[]>> blocks;
        for (int64_t bytes = 0; bytes < kBytes; bytes += 1 << 16) {
          blocks.push_back(std::make_unique<char[]>(1 << 16));
        }
        last[static_cast<size_t>(i)] = std::make_unique<char[]>(1 << 16);
        if (++have == kThreads) {
          all_have.RequestStop();
        }
        all_have.Wait();  // So that each has an arena of its own.
      }));
    }
  }
  const int64_t before = resident();
  CHECK_FALSE(ReturnFreedMemory(int64_t{1} << 40));
  CHECK(ReturnFreedMemory(kThreads * kBytes / 2));
  CHECK(before - resident() > kThreads * kBytes / 2);
}

TEST_CASE("What lies between blocks in use goes back to the system once", "[unit]") {
  constexpr size_t kBlock = 16 << 10;
  std::vector<std::unique_ptr<char[]>> blocks(2'000);
  for (auto& block : blocks) {
    block = std::make_unique<char[]>(kBlock);
  }
  for (size_t i = 0; i < blocks.size(); i += 2) {
    blocks[i] = nullptr;
  }
  constexpr int64_t kMost = 1'000 * kBlock / 2;
  CHECK(ReturnFreedMemory(kMost));
  CHECK_FALSE(ReturnFreedMemory(kMost));
  // And once more where it was used in between.
  for (size_t i = 0; i < blocks.size(); i += 2) {
    blocks[i] = std::make_unique<char[]>(kBlock);
  }
  CHECK_FALSE(ReturnFreedMemory(kMost));
  for (size_t i = 0; i < blocks.size(); i += 2) {
    blocks[i] = nullptr;
  }
  CHECK(ReturnFreedMemory(kMost));
}

}  // namespace
}  // namespace waggle

#endif
