#include "cli/play/typed_action.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "actor/acting/action_scaling.h"
#include "cli/human_text.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/elements.h"

namespace waggle {
namespace {

absl::Status Wrong(const SpaceLeaf& leaf, absl::string_view got, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(leaf.array.name, ": got ", Printable(got, 40), "; wanted ", wanted));
}

// The least and the greatest whole number of a type, within those that a double holds exactly.
std::pair<double, double> WholeNumbers(DType dtype) {
  constexpr double kExact = 9007199254740992.0;
  const double bits = 8.0 * static_cast<double>(DTypeSize(dtype));
  const bool is_signed = dtype != DType::kUint8 && dtype != DType::kBool;
  const double most = is_signed ? std::exp2(bits - 1) - 1 : std::exp2(bits) - 1;
  return {is_signed ? -std::min(most + 1, kExact) : 0, std::min(most, kExact)};
}

absl::StatusOr<double> NumberOf(const SpaceLeaf& leaf, int64_t element, absl::string_view word) {
  double low = leaf.Low(element);
  double high = leaf.High(element);
  if (leaf.kind == SpaceKind::kMultiBinary) {
    low = 0;
    high = 1;
  } else if (!leaf.num_values.empty()) {
    low = 0;
    high = static_cast<double>(leaf.num_values[static_cast<size_t>(element)] - 1);
  } else if (!IsFloatingPoint(leaf.array.dtype)) {
    const auto [least, most] = WholeNumbers(leaf.array.dtype);
    low = std::max(low, least);
    high = std::min(high, most);
  }
  const bool is_whole = leaf.kind != SpaceKind::kBox || !IsFloatingPoint(leaf.array.dtype);
  double number = 0;
  if (!absl::SimpleAtod(word, &number) || !std::isfinite(number) || number < low || number > high ||
      (is_whole && number != std::floor(number))) {
    return Wrong(leaf, word, absl::StrCat(is_whole ? "a whole number" : "a number", " from ", low, " to ", high));
  }
  return number;
}

// A policy's number is the place between the bounds of a box, in [-1, 1], if they are finite.
double Unscaled(const SpaceLeaf& leaf, int64_t element, double number) {
  const double low = leaf.Low(element);
  const double high = leaf.High(element);
  return std::isfinite(low) && std::isfinite(high) ? 2 * (number - low) / (high - low) - 1 : number;
}

}  // namespace

std::string WantedAction(const EnvironmentSpec& environment) {
  std::vector<std::string> leaves;
  for (const SpaceLeaf& leaf : environment.actions) {
    leaves.push_back(leaf.DebugString());
  }
  return absl::StrJoin(leaves, "; ");
}

absl::Status ReadTypedAction(const EnvironmentSpec& environment, const std::string& line,
                             absl::Span<void* const> observations, const LeafArrays& actions) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" ,\t\r"), absl::SkipEmpty());
  int64_t wanted = 0;
  for (const SpaceLeaf& leaf : environment.actions) {
    wanted += leaf.array.NumElements();
  }
  if (static_cast<int64_t>(words.size()) != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", words.size(), " numbers; wanted ", wanted, ": ", WantedAction(environment)));
  }
  auto word = words.begin();
  for (size_t i = 0; i < environment.actions.size(); ++i) {
    const SpaceLeaf& leaf = environment.actions[i];
    const SpaceLeaf* const mask = FindMaskOfAction(environment, leaf);
    int64_t mask_begin = 0;  // The first choice of the element in the mask.
    for (int64_t element = 0; element < leaf.array.NumElements(); ++element, ++word) {
      WAGGLE_ASSIGN_OR_RETURN(const double number, NumberOf(leaf, element, *word));
      if (mask != nullptr) {
        const void* const shown = observations[static_cast<size_t>(mask - environment.observations.data())];
        if (ElementAsDouble(DType::kBool, shown, mask_begin + static_cast<int64_t>(number)) == 0) {
          return Wrong(leaf, *word, "a choice that the mask allows");
        }
        mask_begin += leaf.num_values[static_cast<size_t>(element)];
      }
      StoreElement(
          leaf.array.dtype, IsScaledAction(leaf) ? Unscaled(leaf, element, number) : number,
          static_cast<char*>(actions.pointers()[i]) + static_cast<size_t>(element) * DTypeSize(leaf.array.dtype));
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
