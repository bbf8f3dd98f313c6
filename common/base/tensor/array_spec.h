#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/tensor/dtype.h"

namespace waggle {

// Limits on every array, wherever it comes from. They keep every size computation far from overflow.
inline constexpr int kMaxRank = 8;
inline constexpr int64_t kMaxArrayBytes = int64_t{1} << 40;
inline constexpr size_t kMaxNameLength = 128;
// For a list of arrays, such as a row's columns.
inline constexpr int kMaxColumns = 256;

// The name, element type and shape of an array; no data. For a column of a stream it describes one row.
struct ArraySpec {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  // Empty for a scalar; a dimension may be 0.

  // The product of the dimensions and that times the element's size; the spec must be valid.
  int64_t NumElements() const;
  int64_t NumBytes() const;

  // "observation: float32[4]", for messages.
  std::string DebugString() const;

  // INVALID_ARGUMENT for a bad name, an unknown element type, a rank above kMaxRank, a negative dimension or a size
  // above kMaxArrayBytes (products are computed without overflow).
  absl::Status Validate() const;

  friend bool operator==(const ArraySpec& a, const ArraySpec& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
  }
  friend bool operator!=(const ArraySpec& a, const ArraySpec& b) { return !(a == b); }
};

// INVALID_ARGUMENT unless `name` is 1 to kMaxNameLength of the characters [A-Za-z0-9._/-]: names end up in metrics,
// file names and messages.
absl::Status ValidateName(const std::string& name);

// Bytes of one row of these columns, which are valid.
int64_t BytesARow(const std::vector<ArraySpec>& columns);

// "[observation: float32[4], action: int64[]]".
std::string DebugString(const std::vector<ArraySpec>& specs);

}  // namespace waggle
