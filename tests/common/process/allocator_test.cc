#include "common/process/allocator.h"

#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <memory>

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

}  // namespace
}  // namespace waggle

#endif
