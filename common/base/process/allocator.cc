#include "common/base/process/allocator.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define WAGGLE_KNOWS_WHAT_IS_FREED
#endif
#endif

namespace waggle {
namespace {

#ifdef __GLIBC__
bool UserHasSetItUp() {
  constexpr std::array<const char*, 3> kNames{"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"};
  return std::any_of(kNames.begin(), kNames.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}
#endif

}  // namespace

void KeepFreedMemory([[maybe_unused]] AllocatingThreads threads) {
#ifdef __GLIBC__
  if (UserHasSetItUp()) {
    return;
  }
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // The most that glibc allows.
  if (threads == AllocatingThreads::kMany) {
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
  } else {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);  // Never.
    mallopt(M_ARENA_MAX, 1);
  }
#endif
}

bool ReturnFreedMemory([[maybe_unused]] int64_t most_kept) {
#ifdef WAGGLE_KNOWS_WHAT_IS_FREED
  // Returned memory between blocks in use still counts as freed.
  static std::atomic<int64_t> returned{0};
  if (UserHasSetItUp()) {
    return false;
  }
  const auto freed = static_cast<int64_t>(mallinfo2().fordblks);
  const int64_t before = std::min(returned.load(), freed);
  if (freed - before <= most_kept) {
    returned = before;
    return false;
  }
  malloc_trim(0);
  returned = static_cast<int64_t>(mallinfo2().fordblks);
  return true;
#endif
  return false;
}

}  // namespace waggle
