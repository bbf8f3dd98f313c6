#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// Zeroed memory for rows of all lanes: an array [lanes, …] for each spec.
class LeafArrays {
 public:
  LeafArrays(const std::vector<ArraySpec>& specs, int64_t lanes) {
    for (const ArraySpec& spec : specs) {
      memory_.emplace_back(static_cast<size_t>(lanes * spec.NumBytes()));
      pointers_.push_back(memory_.back().data());
    }
  }
  LeafArrays(LeafArrays&&) = default;
  LeafArrays(const LeafArrays&) = delete;
  LeafArrays& operator=(const LeafArrays&) = delete;

  // One for each spec, in their order.
  const std::vector<void*>& pointers() const { return pointers_; }

 private:
  std::vector<std::vector<char>> memory_;
  std::vector<void*> pointers_;
};

}  // namespace waggle
