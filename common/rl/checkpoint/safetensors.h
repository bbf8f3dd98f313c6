#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/tensor/array_spec.h"

namespace waggle {

// The format of safetensors files (https://github.com/huggingface/safetensors): the header's length in 8 bytes; the
// header, a JSON object of tensors and optional texts; the tensors. Little-endian, row-major, without gaps.

inline constexpr int64_t kSafetensorsLengthBytes = 8;
// Limit of headers, to bound a reader's memory. The Python package's own limit is 100,000,000.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = int64_t{1} << 26;

// A tensor and its place in the file.
struct SafetensorsEntry {
  ArraySpec spec;
  int64_t offset = 0;  // First byte, counted from the header's end.
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // In the header's order.
  // Texts under "__metadata__", in order. Names and texts are UTF-8; names are unique.
  std::vector<std::pair<std::string, std::string>> texts;
};

// Assigns places. Larger elements come first, so that each tensor begins at a multiple of its element size.
std::vector<SafetensorsEntry> LayOutTensors(const std::vector<ArraySpec>& specs);

// The indices of `tensors` in file order.
std::vector<size_t> OrderInFile(const std::vector<SafetensorsEntry>& tensors);

// The end of the last tensor: the size of the file after the header.
int64_t DataBytes(const std::vector<SafetensorsEntry>& tensors);

// The header after its length, padded with blanks so that the data begins at a multiple of 64. Texts come first.
// INVALID_ARGUMENT for texts that are not UTF-8, a tensor "__metadata__" and long headers. Tensors must be valid and
// placed by LayOutTensors.
absl::StatusOr<std::string> EncodeSafetensorsHeader(const SafetensorsHeader& header);

// The header's length, from a file's first 8 bytes. DATA_LOSS if it exceeds the limit or a file of `file_bytes`.
absl::StatusOr<int64_t> ParseSafetensorsLength(absl::string_view bytes, int64_t file_bytes);

// Parses a header, without its length, that precedes `data_bytes` bytes. DATA_LOSS, saying what is wrong, unless the
// tensors are valid, have unique names and fill these bytes without gaps. Memory is proportional to `json`.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json, int64_t data_bytes);

}  // namespace waggle
