#include "common/process/allocator.h"

#include <malloc.h>

#include <cstdlib>
#include <initializer_list>

namespace waggle {

void KeepFreedMemory() {
#ifdef __GLIBC__
  for (const char* name : {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(name) != nullptr) {
      return;
    }
  }
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // The most that glibc allows.
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

}  // namespace waggle
