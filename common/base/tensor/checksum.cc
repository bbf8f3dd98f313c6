#include "common/base/tensor/checksum.h"

#include <xxhash.h>
#ifdef WAGGLE_XXHASH_DISPATCHES
#include <immintrin.h>
#include <xxh_x86dispatch.h>  // Puts the functions for this processor in the place of those for any: twice as fast.
#endif

#include "common/base/check.h"

namespace waggle {
namespace {

#ifdef WAGGLE_XXHASH_DISPATCHES
// The library's functions for processors with AVX leave the upper halves of the vector registers filled, and other
// code is slow until they are cleared: std::pow takes fourteen times as long.
__attribute__((target("avx"))) void ClearUpperHalves() {
  _mm256_zeroupper();
}

void Tidy() {
  static const bool has_avx = __builtin_cpu_supports("avx");
  if (has_avx) {
    ClearUpperHalves();
  }
}
#else
void Tidy() {}
#endif

int Free(XXH3_state_s* state) {
  return static_cast<int>(XXH3_freeState(state));
}

}  // namespace

Checksummer::Checksummer() : state_(XXH3_createState(), &Free) {
  WAGGLE_CHECK(state_ != nullptr && XXH3_64bits_reset(state_.get()) == XXH_OK, "there is memory for a checksum");
}

void Checksummer::Update(const void* data, size_t size) {
  XXH3_64bits_update(state_.get(), data, size);
  Tidy();
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
  const uint64_t checksum = XXH3_64bits(data, size);
  Tidy();
  return checksum;
}

}  // namespace waggle
