#pragma once

#include <memory>
#include <string>

#include "common/base/tensor/byte_slices.h"

namespace waggle::testing {

inline std::string BytesOf(const ByteSlices& slices) {
  std::string bytes(slices.size(), '\0');
  slices.CopyTo(bytes.data());
  return bytes;
}

// A copy of the bytes in two slices, as they come off the wire.
inline ByteSlices InTwoSlices(const std::string& bytes) {
  const auto owner = std::make_shared<std::string>(bytes);
  const size_t half = bytes.size() / 2;
  ByteSlices slices;
  slices.Append({owner->data(), half, owner});
  slices.Append({owner->data() + half, bytes.size() - half, owner});
  return slices;
}

}  // namespace waggle::testing
