#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// The version that this program writes, and the newest that it reads.
inline constexpr int64_t kCheckpointFormatVersion = 1;

// No manifest is larger, so that a reader knows how much memory one may take.
inline constexpr int64_t kMaxManifestBytes = int64_t{1} << 26;

// Where an array lies in the data file.
struct ManifestEntry {
  ArraySpec spec;
  int64_t offset = 0;     // Bytes from the start of the file; a multiple of 64.
  uint64_t checksum = 0;  // XXH3-64 of the array's bytes.
};

// What a checkpoint's MANIFEST file says. docs/checkpoints.md describes its bytes.
struct Manifest {
  int64_t step = 0;
  int64_t data_bytes = 0;  // The size of the data file.
  std::vector<ManifestEntry> entries;
  std::map<std::string, std::string> texts;
};

// The offset of an array that follows `end` bytes: the next multiple of 64.
int64_t AlignedOffset(int64_t end);

// The file's bytes. The manifest must be valid.
std::string FormatManifest(const Manifest& manifest);

// The other way. DATA_LOSS for bytes that FormatManifest cannot have written: a wrong checksum, arrays that are
// invalid, named twice, overlap or leave gaps, a data size that does not follow from them. FAILED_PRECONDITION for a
// whole manifest of a newer version.
absl::StatusOr<Manifest> ParseManifest(absl::string_view bytes);

}  // namespace waggle
