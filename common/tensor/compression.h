#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace waggle {

enum class Codec { kNone, kLz4, kZstd };

// The most bytes that Compress may need for `size` bytes.
size_t MaxCompressedBytes(Codec codec, size_t size);

// Compresses `size` bytes into `destination`, which has room for MaxCompressedBytes. Returns how many bytes that took;
// 0 where they are not fewer than there were, or there are too many for the codec: then they are to be kept as they
// are. `codec` is not kNone.
size_t Compress(Codec codec, const char* source, size_t size, char* destination);

// Decompresses into exactly `size` bytes. DATA_LOSS for what is no such data, or has another size. Takes no memory that
// depends on what it reads.
absl::Status Decompress(Codec codec, const char* source, size_t compressed_size, char* destination, size_t size);

}  // namespace waggle
