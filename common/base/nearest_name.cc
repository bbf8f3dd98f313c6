#include "common/base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// The number of insertions, deletions, substitutions and swaps of neighbours between the two.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const size_t substituted = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known) {
  // No known name is longer, but a file's key may be.
  if (name.size() > 256) {
    return "";
  }
  // A third of the name may differ: "lerning_rate" is near "learning_rate"; nothing is near "foo".
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  const std::string* best = nullptr;
  for (const std::string& candidate : known) {
    const size_t difference = std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (difference >= best_distance) {
      continue;  // A lower bound of the distance, which is cheap for long names.
    }
    const size_t distance = EditDistance(absl::AsciiStrToLower(name), absl::AsciiStrToLower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : absl::StrCat("; did you mean \"", *best, "\"?");
}

}  // namespace waggle
