#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace waggle {

// Outcomes of a run's gradients (docs/gradient_server.md) over all its processes ever, by each one's last report.
// Gradients without an answer then count as not answered.
struct GradientFacts {
  bool by_learners = false;  // Learners push; otherwise actors do.
  double pushed = 0;
  double applied = 0;                     // As the workers were told. A restart may have undone some.
  std::map<std::string, double> refused;  // By GradientVerdictName.
  double rolled_back = 0;                 // Applied gradients that a restart of the primary has undone.
  double sums_split = 0;                  // Reducers' sums that had to be sent gradient by gradient.
  std::optional<double> pushed_per_s;

  double Refused() const;
  double Unanswered() const { return pushed - applied - Refused(); }
};

// "1190 applied, 6 refused (stale 6), 4 not answered".
std::string GradientsText(const GradientFacts& gradients);

// For summary.json and `waggle status --json`; null if the run pushes none.
nlohmann::ordered_json GradientsJson(const std::optional<GradientFacts>& gradients);

}  // namespace waggle
