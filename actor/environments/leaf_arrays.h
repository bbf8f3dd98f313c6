#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "common/base/tensor/array_spec.h"

namespace waggle {

// Zeroed memory for rows of all lanes: an array [lanes, …] for each spec.
class LeafArrays {
 public:
  LeafArrays(const std::vector<ArraySpec>& specs, int64_t lanes) {
    for (const ArraySpec& spec : specs) {
      row_bytes_.push_back(static_cast<size_t>(spec.NumBytes()));
      memory_.emplace_back(static_cast<size_t>(lanes * spec.NumBytes()));
      pointers_.push_back(memory_.back().data());
    }
  }
  LeafArrays(LeafArrays&&) = default;
  LeafArrays& operator=(LeafArrays&&) = default;
  LeafArrays(const LeafArrays&) = delete;
  LeafArrays& operator=(const LeafArrays&) = delete;

  // One for each spec, in their order.
  const std::vector<void*>& pointers() const { return pointers_; }

  // Copies row `from_row` of other arrays of the same specs to row `row`.
  void CopyRow(absl::Span<const void* const> from, size_t from_row, size_t row) const {
    for (size_t i = 0; i < pointers_.size(); ++i) {
      std::memcpy(static_cast<char*>(pointers_[i]) + row * row_bytes_[i],
                  static_cast<const char*>(from[i]) + from_row * row_bytes_[i], row_bytes_[i]);
    }
  }

 private:
  std::vector<size_t> row_bytes_;
  std::vector<std::vector<char>> memory_;
  std::vector<void*> pointers_;
};

}  // namespace waggle
