#include "actor/environments/leaf_elements.h"

#include "absl/strings/str_cat.h"
#include "common/base/tensor/dtype.h"
#include "common/base/tensor/elements.h"
#include "common/config/range.h"

namespace waggle {
namespace {

// The values of an element of a leaf that is not multi-binary.
Range RangeOf(const SpaceLeaf& leaf, int64_t element) {
  if (leaf.num_values.empty()) {
    return In(leaf.Low(element), leaf.High(element));
  }
  return In(0, static_cast<double>(leaf.num_values[static_cast<size_t>(element)] - 1));
}

bool Holds(const SpaceLeaf& leaf, int64_t element, double value) {
  const Range range = RangeOf(leaf, element);
  if (leaf.array.dtype != DType::kFloat32) {
    return range.Holds(value);
  }
  // The float32 nearest to 0.1, which is above it, is within a bound of 0.1.
  return In(static_cast<double>(static_cast<float>(range.low)), static_cast<double>(static_cast<float>(range.high)))
      .Holds(value);
}

}  // namespace

absl::Status CheckElements(const SpaceLeaf& leaf, const void* array) {
  if (leaf.kind == SpaceKind::kMultiBinary) {
    return absl::OkStatus();
  }
  for (int64_t element = 0; element < leaf.array.NumElements(); ++element) {
    if (!Holds(leaf, element, ElementAsDouble(leaf.array.dtype, array, element))) {
      const Range range = RangeOf(leaf, element);
      return ElementRefusal(
          leaf, array, element,
          absl::StrCat("wanted ", IsFloatingPoint(leaf.array.dtype) ? range.NumberText() : range.IntegerText()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckObservation(const SpaceLeaf& leaf, const void* array) {
  if (!leaf.num_values.empty()) {
    return CheckElements(leaf, array);
  }
  const int64_t element = FindNonFinite(leaf.array.dtype, array, leaf.array.NumElements());
  return element < 0 ? absl::OkStatus() : ElementRefusal(leaf, array, element, "wanted a finite number");
}

absl::Status ElementRefusal(const SpaceLeaf& leaf, const void* array, int64_t element, const std::string& why) {
  const std::string index = leaf.array.shape.empty() ? "" : absl::StrCat("[", element, "]");
  return absl::InvalidArgumentError(
      absl::StrCat(leaf.array.name, index, ": got ", ElementText(leaf.array.dtype, array, element), "; ", why));
}

}  // namespace waggle
