#include "common/base/tensor/byte_slices.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace waggle {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

ByteSlices ByteSlices::Part(size_t offset, size_t size) const {
  ByteSlices part;
  for (const ByteSlice& slice : slices_) {
    if (offset >= slice.size) {
      offset -= slice.size;
      continue;
    }
    if (part.size() == size) {
      break;
    }
    part.Append({slice.data + offset, std::min(slice.size - offset, size - part.size()), slice.owner});
    offset = 0;
  }
  return part;
}

void ByteSlices::CopyTo(char* destination) const {
  for (const ByteSlice& slice : slices_) {
    if (slice.size > 0) {  // An empty slice may have no address, which memcpy does not allow.
      std::memcpy(destination, slice.data, slice.size);
      destination += slice.size;
    }
  }
}

std::shared_ptr<const char> InOneRun(const ByteSlices& data) {
  if (data.slices().size() == 1) {
    return std::shared_ptr<const char>(data.slices()[0].owner, data.slices()[0].data);
  }
  std::shared_ptr<char> copy = AllocateBytes(data.size());
  data.CopyTo(copy.get());
  return copy;
}

std::shared_ptr<char> AllocateBytes(size_t size) {
  return std::shared_ptr<char>(static_cast<char*>(::operator new(size, kAlignment)),
                               [](char* bytes) { ::operator delete(bytes, kAlignment); });
}

}  // namespace waggle
