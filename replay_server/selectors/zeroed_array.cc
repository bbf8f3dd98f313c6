#include "replay_server/selectors/zeroed_array.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "common/base/out_of_memory.h"

namespace waggle {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kHugePage = size_t{2} << 20;
// Smaller arrays use the heap. For larger ones rounding to pages hardly matters.
constexpr size_t kMapFrom = size_t{1} << 20;

}  // namespace

ZeroedArray::ZeroedArray(size_t size) : size_(size) {
  const size_t bytes = size * sizeof(double);
  if (bytes < kMapFrom) {
    data_ = static_cast<double*>(::operator new(bytes, kAlignment));
    std::memset(data_, 0, bytes);
    return;
  }
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    EndOutOfMemory();
  }
  if (bytes >= 2 * kHugePage) {
    madvise(mapped, bytes, MADV_HUGEPAGE);  // Advice; without it the array is only slower.
  }
  data_ = static_cast<double*>(mapped);
}

ZeroedArray::~ZeroedArray() {
  const size_t bytes = size_ * sizeof(double);
  if (data_ == nullptr) {
    return;
  }
  if (bytes < kMapFrom) {
    ::operator delete(data_, kAlignment);
  } else {
    munmap(data_, bytes);
  }
}

}  // namespace waggle
