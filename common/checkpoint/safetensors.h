#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// The layout of a safetensors file (https://github.com/huggingface/safetensors), which the Python package of that name
// opens: the length of the header in 8 bytes, little-endian; the header, a JSON object that names the tensors and may
// hold texts; then the tensors' bytes, little-endian and row-major, one after another without gaps.

inline constexpr int64_t kSafetensorsLengthBytes = 8;
// No header is longer, so that a reader knows how much memory one may take. The package's own limit is 100,000,000.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = int64_t{1} << 26;

// A tensor and where it lies in the file.
struct SafetensorsEntry {
  ArraySpec spec;
  int64_t offset = 0;  // Of its first byte, counted from the header's end.
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // In the order in which the header names them.
  // What stands under "__metadata__", in its order. Both are UTF-8; names occur once.
  std::vector<std::pair<std::string, std::string>> texts;
};

// Gives each tensor its place: larger elements come before smaller ones, so that every tensor begins at a multiple of
// its elements' size.
std::vector<SafetensorsEntry> LayOutTensors(const std::vector<ArraySpec>& specs);

// The indices of `tensors` in the order in which they lie in the file.
std::vector<size_t> OrderInFile(const std::vector<SafetensorsEntry>& tensors);

// Where the last tensor ends: the size of the file behind the header.
int64_t DataBytes(const std::vector<SafetensorsEntry>& tensors);

// The header with its length before it, filled up with blanks so that the data begins at a multiple of 64. The texts
// come first. INVALID_ARGUMENT for texts that are not UTF-8, a tensor named "__metadata__" and a header that is too
// long. The tensors must be valid and lie as LayOutTensors puts them.
absl::StatusOr<std::string> EncodeSafetensorsHeader(const SafetensorsHeader& header);

// The length of the header, from a file's first kSafetensorsLengthBytes bytes. DATA_LOSS unless it is at most the limit
// and what a file of `file_bytes` has room for.
absl::StatusOr<int64_t> ParseSafetensorsLength(absl::string_view bytes, int64_t file_bytes);

// The header, without its length, of a file that has `data_bytes` bytes behind it. DATA_LOSS, saying what is wrong,
// unless the tensors are valid, have names and places of their own and fill these bytes without a gap. Takes memory in
// proportion to `json`.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json, int64_t data_bytes);

}  // namespace waggle
