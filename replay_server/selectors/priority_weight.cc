#include "replay_server/selectors/priority_weight.h"

#include "absl/strings/str_cat.h"

namespace waggle {

absl::Status PriorityWeight::Validate(double priority) const {
  if (!std::isfinite(priority) || priority < 0) {
    return absl::InvalidArgumentError(absl::StrCat("priority ", priority, " is not a finite number >= 0"));
  }
  // Most priorities are far below the limit. This finds out without `pow`.
  const double base = priority + epsilon;
  const bool may_be_large = base > 1e100 || (base > 1 && exponent > 2);
  if (may_be_large && std::pow(base, exponent) > kMax) {
    return absl::InvalidArgumentError(absl::StrCat("priority ", priority, " is too large: to the power of ", exponent,
                                                   " (priority_exponent) it is more than ", kMax));
  }
  return absl::OkStatus();
}

}  // namespace waggle
