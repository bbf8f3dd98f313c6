#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/tensor/byte_slices.h"

struct XXH3_state_s;

namespace waggle {

// Computes the XXH3-64 checksum of bytes that come in pieces. It guards bulk data on the wire and on disk against
// damage, not against forgery. Not thread-safe.
class Checksummer {
 public:
  Checksummer();

  void Update(const void* data, size_t size);
  // The checksum of all bytes so far; more may follow.
  uint64_t Digest() const;

 private:
  std::unique_ptr<XXH3_state_s, int (*)(XXH3_state_s*)> state_;
};

// The checksum of all bytes, however they are cut into slices.
uint64_t Checksum(const ByteSlices& data);
uint64_t Checksum(const void* data, size_t size);

}  // namespace waggle
