#include "common/process/allocator.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace waggle {
namespace {

#ifdef __GLIBC__
bool UserHasSetItUp() {
  constexpr std::array<const char*, 3> kNames{"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"};
  return std::any_of(kNames.begin(), kNames.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}
#endif

}  // namespace

void KeepFreedMemory() {
#ifdef __GLIBC__
  if (!UserHasSetItUp()) {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // The most that glibc allows.
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
  }
#endif
}

bool ReturnFreedMemory([[maybe_unused]] int64_t most_kept) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  if (!UserHasSetItUp() && static_cast<int64_t>(mallinfo2().fordblks) > most_kept) {
    malloc_trim(0);
    return true;
  }
#endif
  return false;
}

}  // namespace waggle
