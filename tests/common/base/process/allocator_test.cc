#include "common/base/process/allocator.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
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

TEST_CASE("Large blocks come from freed memory, without a page fault for each page", "[unit]") {
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

// Runs in a process of its own, by the test below: malloc's settings are final, and must be made at the start.
TEST_CASE("one thread takes and frees blocks of more than the threshold, and of many sizes", "[.][one_thread]") {
  KeepFreedMemory(AllocatingThreads::kOne);
  int64_t faults = 0;
  {
    const Thread thread("learns", [&faults] {
      for (int i = 0; i < 20; ++i) {
        const int64_t before = PageFaults();
        std::vector<std::unique_ptr<char[]>> blocks;
        for (const size_t bytes : {40 << 20, 20 << 20, 30 << 20, 5 << 20, 60 << 20}) {
          blocks.push_back(std::make_unique<char[]>(bytes));
          std::memset(blocks.back().get(), i + 1, bytes);
        }
        faults += i == 0 ? 0 : PageFaults() - before;
      }
    });
  }
  CHECK(faults < (155 << 20) / 4096);
  CHECK(ReturnFreedMemory(100 << 20));
}

TEST_CASE("A thread that is not the first keeps large blocks too, if it is the one that takes them", "[unit]") {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  CHECK(std::system(("'" + program + "' '[one_thread]'").c_str()) == 0);
}

TEST_CASE("Memory that many threads have freed goes back to the system if it is too much", "[unit]") {
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
  std::vector<std::unique_ptr<char[]>> last(kThreads);  // Memory above this cannot go back by itself.
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

TEST_CASE("Freed memory between blocks in use goes back to the system once", "[unit]") {
  constexpr size_t kBlock = 16 << 10;
  std::vector<std::unique_ptr<char[]>> blocks(2'000);
  for (auto& block : blocks) {
    block = std::make_unique<char[]>(kBlock);
  }
  // Blocks may be in memory that earlier tests gave back, which counts as in use again from now on.
  CHECK_FALSE(ReturnFreedMemory(int64_t{1} << 40));
  for (size_t i = 0; i < blocks.size(); i += 2) {
    blocks[i] = nullptr;
  }
  constexpr int64_t kMost = 1'000 * kBlock / 2;
  CHECK(ReturnFreedMemory(kMost));
  CHECK_FALSE(ReturnFreedMemory(kMost));
  // And once more if it was used in between.
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
