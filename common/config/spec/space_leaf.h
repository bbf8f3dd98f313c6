#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/tensor/array_spec.h"

namespace waggle {

// The kind of an array of a space. Numbered as v1::SpaceLeaf::Kind.
enum class SpaceKind {
  kBox = 1,        // Numbers within bounds, of any element type and shape.
  kDiscrete,       // One of num_values[0] choices: an int64 scalar.
  kMultiDiscrete,  // Several choices at once: int64 [n]; element i is one of num_values[i].
  kMultiBinary,    // Several yes or no: bool, of any shape.
};

// "box", "discrete", "multi-discrete" or "multi-binary"; an invalid number as itself.
std::string Name(SpaceKind kind);

// The most choices of one element: sums and sizes of them stay far from overflow.
inline constexpr int64_t kMaxNumValues = int64_t{1} << 40;

// One array of a space. Its name is its path, [AGENT/]ROOT[/PATH]: see leaf_name.h.
struct SpaceLeaf {
  ArraySpec array;
  SpaceKind kind = SpaceKind::kBox;
  // Choices: kDiscrete has one entry, kMultiDiscrete one an element, the others none.
  std::vector<int64_t> num_values;
  // Bounds of a kBox: one entry for all elements, or one an element, in row-major order. They may be infinite. Empty:
  // unbounded.
  std::vector<double> low;
  std::vector<double> high;

  // The bounds of an element of a kBox; infinite if there is none.
  double Low(int64_t element) const;
  double High(int64_t element) const;

  // The sum of num_values; kMaxNumValues + 1 if it is larger than kMaxNumValues.
  int64_t TotalChoices() const;

  // INVALID_ARGUMENT, with the leaf's name, unless there is at least one element, element type, shape, num_values and
  // bounds fit the kind, and each low is below its high. Does not check the name's form.
  absl::Status Validate() const;
  // "action: int64[2] of 3, 4 choices", for messages; long lists are cut short.
  std::string DebugString() const;

  friend bool operator==(const SpaceLeaf& a, const SpaceLeaf& b) {
    return a.array == b.array && a.kind == b.kind && a.num_values == b.num_values && a.low == b.low && a.high == b.high;
  }
  friend bool operator!=(const SpaceLeaf& a, const SpaceLeaf& b) { return !(a == b); }
};

// Makers, a line a leaf. Their results are checked with the environment's spec.
// Bounds: an entry an element; none: unbounded.
SpaceLeaf Box(std::string name, DType dtype, std::vector<int64_t> shape, std::vector<double> low = {},
              std::vector<double> high = {});
// The same bounds for all elements.
SpaceLeaf Box(std::string name, DType dtype, std::vector<int64_t> shape, double low, double high);
SpaceLeaf Discrete(std::string name, int64_t num_values);
SpaceLeaf MultiDiscrete(std::string name, std::vector<int64_t> num_values);
SpaceLeaf MultiBinary(std::string name, std::vector<int64_t> shape);

}  // namespace waggle
