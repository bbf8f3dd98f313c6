#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/checkpoint_contents.h"
#include "common/checkpoint/safetensors.h"

namespace waggle {

// A checkpoint's one file: a safetensors file whose texts say what a checkpoint needs beside its own texts. Their names
// have a colon, which no valid name has. docs/checkpoints.md describes them.

// The version that this program writes, and the only one that it reads.
inline constexpr int64_t kCheckpointFormatVersion = 2;

// What is known of a checkpoint before its arrays are read.
struct CheckpointHeader {
  int64_t step = 0;
  std::map<std::string, std::string> texts;
  std::vector<SafetensorsEntry> tensors;
  uint64_t data_checksum = 0;  // XXH3-64 of all bytes behind the header.
};

// The header, as it stands in the file without its length, of a file with `data_bytes` bytes behind it. DATA_LOSS for a
// header that is damaged or no checkpoint's; FAILED_PRECONDITION for a whole one of a newer version.
absl::StatusOr<CheckpointHeader> ParseCheckpointHeader(absl::string_view json, int64_t data_bytes);

// Puts the checksum of the rest into a header that begins as a checkpoint's does, and returns whether it does so.
bool SignCheckpointHeader(std::string* json);

// Writes the file and returns once its bytes are on the device; its name is not. ALREADY_EXISTS if the path is taken,
// INVALID_ARGUMENT for contents that break a rule of theirs.
absl::Status WriteCheckpointFile(const CheckpointContents& contents, const std::string& path);

// Reads what is before the arrays, and checks that the file has the size that follows from it. Errors as
// ParseCheckpointHeader's and the file system's.
absl::StatusOr<CheckpointHeader> ReadCheckpointHeader(const std::string& path);

// Reads all of it; also DATA_LOSS where the arrays' bytes are damaged.
absl::StatusOr<CheckpointContents> ReadCheckpointFile(const std::string& path);

}  // namespace waggle
