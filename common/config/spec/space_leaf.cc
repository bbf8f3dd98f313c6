#include "common/config/spec/space_leaf.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr size_t kMaxShown = 8;  // Entries of a list in a message.

template <class T>
std::string ShortList(const std::vector<T>& values) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kMaxShown));
  return absl::StrCat(absl::StrJoin(values.begin(), end, ", "), values.size() > kMaxShown ? ", ..." : "");
}

bool IsScalar(const ArraySpec& array) {
  return array.shape.empty();
}

bool IsVector(const ArraySpec& array) {
  return array.shape.size() == 1;
}

absl::Status ValidateBounds(const SpaceLeaf& leaf) {
  const auto elements = static_cast<uint64_t>(leaf.array.NumElements());
  const size_t bounds = leaf.low.size();
  if (bounds != leaf.high.size() || (bounds != 0 && bounds != 1 && bounds != elements)) {
    return absl::InvalidArgumentError(absl::StrCat(bounds, " lower and ", leaf.high.size(), " upper bounds for ",
                                                   elements, " elements; wanted none, one, or one an element of each"));
  }
  for (size_t i = 0; i < bounds; ++i) {
    // The comparison is false for NaN.
    if (!(leaf.low[i] < leaf.high[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("the bounds of element ", i, " are [", leaf.low[i], ", ", leaf.high[i], "]; wanted low < high"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateChoices(const SpaceLeaf& leaf) {
  const bool one = leaf.kind == SpaceKind::kDiscrete;
  if (leaf.array.dtype != DType::kInt64 || !(one ? IsScalar(leaf.array) : IsVector(leaf.array))) {
    return absl::InvalidArgumentError(absl::StrCat("wanted ", one ? "int64[], a scalar," : "int64[n], a vector,",
                                                   " for a ", Name(leaf.kind), " one"));
  }
  const auto elements = static_cast<uint64_t>(leaf.array.NumElements());
  if (leaf.num_values.size() != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_values has ", leaf.num_values.size(), " entries; wanted ", elements, ", one an element"));
  }
  for (const int64_t choices : leaf.num_values) {
    if (choices < 1 || choices > kMaxNumValues) {
      return absl::InvalidArgumentError(absl::StrCat(choices, " choices; wanted 1 to ", kMaxNumValues));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateKind(const SpaceLeaf& leaf) {
  const bool has_choices = leaf.kind == SpaceKind::kDiscrete || leaf.kind == SpaceKind::kMultiDiscrete;
  if (!has_choices && !leaf.num_values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("num_values has ", leaf.num_values.size(),
                                                   " entries; wanted none for a ", Name(leaf.kind), " one"));
  }
  if (leaf.kind != SpaceKind::kBox && (!leaf.low.empty() || !leaf.high.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(leaf.low.size(), " lower and ", leaf.high.size(),
                                                   " upper bounds; wanted none for a ", Name(leaf.kind), " one"));
  }
  switch (leaf.kind) {
    case SpaceKind::kBox:
      return ValidateBounds(leaf);
    case SpaceKind::kDiscrete:
    case SpaceKind::kMultiDiscrete:
      return ValidateChoices(leaf);
    case SpaceKind::kMultiBinary:
      return leaf.array.dtype == DType::kBool
                 ? absl::OkStatus()
                 : absl::InvalidArgumentError("wanted elements of type bool for a multi-binary one");
  }
  return absl::InvalidArgumentError(absl::StrCat(Name(leaf.kind), " is not a kind of space"));
}

SpaceLeaf Make(SpaceKind kind, std::string name, DType dtype, std::vector<int64_t> shape) {
  SpaceLeaf leaf;
  leaf.array = ArraySpec{std::move(name), dtype, std::move(shape)};
  leaf.kind = kind;
  return leaf;
}

double BoundOf(const std::vector<double>& bounds, int64_t element, double none) {
  if (bounds.empty()) {
    return none;
  }
  return bounds[bounds.size() == 1 ? 0 : static_cast<size_t>(element)];
}

}  // namespace

std::string Name(SpaceKind kind) {
  switch (kind) {
    case SpaceKind::kBox:
      return "box";
    case SpaceKind::kDiscrete:
      return "discrete";
    case SpaceKind::kMultiDiscrete:
      return "multi-discrete";
    case SpaceKind::kMultiBinary:
      return "multi-binary";
  }
  return absl::StrCat(static_cast<int>(kind));
}

double SpaceLeaf::Low(int64_t element) const {
  return BoundOf(low, element, -std::numeric_limits<double>::infinity());
}

double SpaceLeaf::High(int64_t element) const {
  return BoundOf(high, element, std::numeric_limits<double>::infinity());
}

int64_t SpaceLeaf::TotalChoices() const {
  int64_t total = 0;
  for (const int64_t choices : num_values) {
    if (choices > kMaxNumValues - total) {
      return kMaxNumValues + 1;
    }
    total += choices;
  }
  return total;
}

absl::Status SpaceLeaf::Validate() const {
  WAGGLE_RETURN_IF_ERROR(array.Validate());
  if (array.NumElements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(array.DebugString(), " is empty; wanted at least one element"));
  }
  return Annotate(ValidateKind(*this), array.DebugString());
}

std::string SpaceLeaf::DebugString() const {
  std::string text = array.DebugString();
  if (!num_values.empty()) {
    absl::StrAppend(&text, " of ", ShortList(num_values), " choices");
  }
  if (low.size() == 1 && high.size() == 1) {
    absl::StrAppend(&text, " in [", low[0], ", ", high[0], "]");
  } else if (!low.empty() || !high.empty()) {
    absl::StrAppend(&text, " in [", ShortList(low), "] to [", ShortList(high), "]");
  }
  return text;
}

SpaceLeaf Box(std::string name, DType dtype, std::vector<int64_t> shape, std::vector<double> low,
              std::vector<double> high) {
  SpaceLeaf leaf = Make(SpaceKind::kBox, std::move(name), dtype, std::move(shape));
  leaf.low = std::move(low);
  leaf.high = std::move(high);
  return leaf;
}

SpaceLeaf Box(std::string name, DType dtype, std::vector<int64_t> shape, double low, double high) {
  return Box(std::move(name), dtype, std::move(shape), std::vector<double>{low}, std::vector<double>{high});
}

SpaceLeaf Discrete(std::string name, int64_t num_values) {
  SpaceLeaf leaf = Make(SpaceKind::kDiscrete, std::move(name), DType::kInt64, {});
  leaf.num_values = {num_values};
  return leaf;
}

SpaceLeaf MultiDiscrete(std::string name, std::vector<int64_t> num_values) {
  SpaceLeaf leaf =
      Make(SpaceKind::kMultiDiscrete, std::move(name), DType::kInt64, {static_cast<int64_t>(num_values.size())});
  leaf.num_values = std::move(num_values);
  return leaf;
}

SpaceLeaf MultiBinary(std::string name, std::vector<int64_t> shape) {
  return Make(SpaceKind::kMultiBinary, std::move(name), DType::kBool, std::move(shape));
}

}  // namespace waggle
