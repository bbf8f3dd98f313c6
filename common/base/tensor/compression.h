#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace waggle {

enum class Codec { kNone, kLz4, kZstd };  // Numbered as waggle.v1.ColumnCompression.Codec.

// The most bytes that Compress may need for `size` bytes.
size_t MaxCompressedBytes(Codec codec, size_t size);

// Compresses `size` bytes into `destination`, which has room for MaxCompressedBytes. Returns the number of compressed
// bytes; 0 if they are not fewer, or there are too many for the codec: then keep the bytes uncompressed. `codec` is not
// kNone.
size_t Compress(Codec codec, const char* source, size_t size, char* destination);

// Decompresses into exactly `size` bytes. DATA_LOSS for other data, or another size. Takes no memory that depends on
// what it reads.
absl::Status Decompress(Codec codec, const char* source, size_t compressed_size, char* destination, size_t size);

}  // namespace waggle
