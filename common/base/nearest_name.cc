#include "common/base/nearest_name.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> previous(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    previous[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> current(b.size() + 1);
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substituted});
    }
    previous = std::move(current);
  }
  return previous[b.size()];
}

}  // namespace

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known) {
  // A third of the name may differ: "lerning_rate" is near "learning_rate", "foo" is near nothing.
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  const std::string* best = nullptr;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(absl::AsciiStrToLower(name), absl::AsciiStrToLower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : absl::StrCat("; did you mean \"", *best, "\"?");
}

}  // namespace waggle
