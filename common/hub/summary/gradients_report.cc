#include "common/hub/summary/gradients_report.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace waggle {

double GradientFacts::Refused() const {
  double all = 0;
  for (const auto& [reason, count] : refused) {
    all += count;
  }
  return all;
}

std::string GradientsText(const GradientFacts& gradients) {
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : gradients.refused) {
    reasons.push_back(absl::StrFormat("%s %.0f", reason, count));
  }
  std::string text = absl::StrFormat("%.0f applied, %.0f refused", gradients.applied, gradients.Refused());
  if (!reasons.empty()) {
    absl::StrAppend(&text, " (", absl::StrJoin(reasons, ", "), ")");
  }
  absl::StrAppendFormat(&text, ", %.0f not answered", gradients.Unanswered());
  if (gradients.rolled_back > 0) {
    absl::StrAppendFormat(&text, ", %.0f undone by a restart", gradients.rolled_back);
  }
  if (gradients.sums_split > 0) {
    absl::StrAppendFormat(&text, ", %.0f sums split", gradients.sums_split);
  }
  return text;
}

nlohmann::ordered_json GradientsJson(const std::optional<GradientFacts>& gradients) {
  if (!gradients.has_value()) {
    return nullptr;
  }
  nlohmann::ordered_json by_reason = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : gradients->refused) {
    by_reason[reason] = static_cast<int64_t>(count);
  }
  return {{"pushed", static_cast<int64_t>(gradients->pushed)},
          {"applied", static_cast<int64_t>(gradients->applied)},
          {"refused", static_cast<int64_t>(gradients->Refused())},
          {"refused_by_reason", std::move(by_reason)},
          {"unanswered", static_cast<int64_t>(gradients->Unanswered())},
          {"rolled_back", static_cast<int64_t>(gradients->rolled_back)},
          {"sums_split", static_cast<int64_t>(gradients->sums_split)}};
}

}  // namespace waggle
