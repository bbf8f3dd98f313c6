#include "common/base/tensor/compression.h"

#include <lz4.h>
#include <zstd.h>

#include <limits>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// The fastest: rows are compressed as they are produced and decompressed as they are sampled.
constexpr int kZstdLevel = 1;

bool FitsLz4(size_t size) {
  return size <= static_cast<size_t>(LZ4_MAX_INPUT_SIZE);
}

}  // namespace

size_t MaxCompressedBytes(Codec codec, size_t size) {
  if (codec == Codec::kLz4) {
    return FitsLz4(size) ? static_cast<size_t>(LZ4_compressBound(static_cast<int>(size))) : 0;
  }
  return ZSTD_compressBound(size);
}

size_t Compress(Codec codec, const char* source, size_t size, char* destination) {
  const size_t room = MaxCompressedBytes(codec, size);
  size_t compressed = 0;
  if (codec == Codec::kZstd) {
    compressed = ZSTD_compress(destination, room, source, size, kZstdLevel);
    compressed = ZSTD_isError(compressed) != 0 ? 0 : compressed;
  } else if (FitsLz4(size)) {
    const int written = LZ4_compress_default(source, destination, static_cast<int>(size), static_cast<int>(room));
    compressed = written > 0 ? static_cast<size_t>(written) : 0;
  }
  return compressed < size ? compressed : 0;
}

absl::Status Decompress(Codec codec, const char* source, size_t compressed_size, char* destination, size_t size) {
  size_t got = 0;
  if (codec == Codec::kZstd) {
    got = ZSTD_decompress(destination, size, source, compressed_size);
    if (ZSTD_isError(got) != 0) {
      return absl::DataLossError(
          absl::StrCat(compressed_size, " bytes are not zstd data of ", size, " bytes: ", ZSTD_getErrorName(got)));
    }
  } else {
    if (!FitsLz4(size) || compressed_size > static_cast<size_t>(std::numeric_limits<int>::max())) {
      return absl::DataLossError(absl::StrCat(size, " bytes are more than lz4 data can have"));
    }
    const int written =
        LZ4_decompress_safe(source, destination, static_cast<int>(compressed_size), static_cast<int>(size));
    if (written < 0) {
      return absl::DataLossError(absl::StrCat(compressed_size, " bytes are not lz4 data of ", size, " bytes"));
    }
    got = static_cast<size_t>(written);
  }
  if (got != size) {
    return absl::DataLossError(absl::StrCat("compressed data: got ", got, " bytes; wanted ", size));
  }
  return absl::OkStatus();
}

}  // namespace waggle
