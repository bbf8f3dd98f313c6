#include "common/tensor/byte_slices.h"

#include <cstring>
#include <new>

namespace waggle {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void ByteSlices::CopyTo(char* destination) const {
  for (const ByteSlice& slice : slices_) {
    if (slice.size > 0) {  // An empty slice may have no address, which memcpy does not allow.
      std::memcpy(destination, slice.data, slice.size);
      destination += slice.size;
    }
  }
}

std::shared_ptr<char> AllocateBytes(size_t size) {
  return std::shared_ptr<char>(static_cast<char*>(::operator new(size, kAlignment)),
                               [](char* bytes) { ::operator delete(bytes, kAlignment); });
}

}  // namespace waggle
