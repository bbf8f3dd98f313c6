#include "common/tensor/checksum.h"

#include <xxhash.h>

#include "common/base/check.h"

namespace waggle {
namespace {

int Free(XXH3_state_s* state) {
  return static_cast<int>(XXH3_freeState(state));
}

}  // namespace

Checksummer::Checksummer() : state_(XXH3_createState(), &Free) {
  WAGGLE_CHECK(state_ != nullptr && XXH3_64bits_reset(state_.get()) == XXH_OK, "there is memory for a checksum");
}

void Checksummer::Update(const void* data, size_t size) {
  XXH3_64bits_update(state_.get(), data, size);
}

uint64_t Checksummer::Digest() const {
  return XXH3_64bits_digest(state_.get());
}

uint64_t Checksum(const ByteSlices& data) {
  if (data.slices().size() == 1) {
    return Checksum(data.slices().front().data, data.size());
  }
  Checksummer checksummer;
  for (const ByteSlice& slice : data.slices()) {
    checksummer.Update(slice.data, slice.size);
  }
  return checksummer.Digest();
}

uint64_t Checksum(const void* data, size_t size) {
  return XXH3_64bits(data, size);
}

}  // namespace waggle
