#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace waggle {

// What became of a run's gradients (docs/gradient_server.md), over all processes that ever worked for it. Each is as
// its worker last said: one that a worker had no answer to when it was last heard of is not answered.
struct GradientFacts {
  double pushed = 0;
  double applied = 0;                     // As the workers were told; also what a restart has undone since.
  std::map<std::string, double> refused;  // By GradientVerdictName.
  double rolled_back = 0;                 // Applied ones that a restart of the primary has undone.
  double sums_split = 0;                  // Sums of reducers that had to come gradient by gradient.
  std::optional<double> pushed_per_s;

  double Refused() const;
  double Unanswered() const { return pushed - applied - Refused(); }
};

// "1190 applied, 6 refused (stale 6), 4 not answered".
std::string GradientsText(const GradientFacts& gradients);

// As summary.json and `waggle status --json` have it; null where the run pushes none.
nlohmann::ordered_json GradientsJson(const std::optional<GradientFacts>& gradients);

}  // namespace waggle
