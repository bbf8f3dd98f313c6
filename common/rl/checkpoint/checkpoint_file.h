#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rl/checkpoint/checkpoint_contents.h"
#include "common/rl/checkpoint/safetensors.h"

namespace waggle {

// A checkpoint's only file: safetensors with additional texts whose names have a colon. See docs/checkpoints.md.

// The only version that is written and read.
inline constexpr int64_t kCheckpointFormatVersion = 2;

// The part of a checkpoint before its arrays.
struct CheckpointHeader {
  int64_t step = 0;
  std::map<std::string, std::string> texts;
  std::vector<SafetensorsEntry> tensors;
  uint64_t data_checksum = 0;  // XXH3-64 of all bytes after the header.
};

// Parses a header, without its length, that precedes `data_bytes` bytes. DATA_LOSS if it is damaged or no checkpoint's,
// FAILED_PRECONDITION if it is intact and of a newer version.
absl::StatusOr<CheckpointHeader> ParseCheckpointHeader(absl::string_view json, int64_t data_bytes);

// Writes the header's checksum into it. False if it does not begin as a checkpoint's.
bool SignCheckpointHeader(std::string* json);

// Returns once the bytes, but not the name, are on the device. ALREADY_EXISTS if the path is taken, INVALID_ARGUMENT
// for invalid contents.
absl::Status WriteCheckpointFile(const CheckpointContents& contents, const std::string& path);

// Reads the header and checks the file's size by it. Errors are ParseCheckpointHeader's and the file system's.
absl::StatusOr<CheckpointHeader> ReadCheckpointHeader(const std::string& path);

// Reads the whole file. Also DATA_LOSS if the arrays are damaged.
absl::StatusOr<CheckpointContents> ReadCheckpointFile(const std::string& path);

}  // namespace waggle
