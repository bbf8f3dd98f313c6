#include "common/summary/result_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace waggle {

nlohmann::ordered_json ResultJson(const std::optional<v1::Result>& result) {
  if (!result.has_value()) {
    return nullptr;
  }
  const v1::Evaluation& evaluation = result->evaluation();
  return {{"version", {{"epoch", evaluation.version().epoch()}, {"version", evaluation.version().version()}}},
          {"env_steps", evaluation.env_steps()},
          {"learner_steps", evaluation.version().version()},
          {"episodes", evaluation.episodes()},
          {"mean_return", evaluation.mean_return()},
          {"standard_deviation", evaluation.standard_deviation()},
          {"min_return", evaluation.min_return()},
          {"max_return", evaluation.max_return()},
          {"mean_length", evaluation.mean_length()},
          {"confirmed", result->confirmed()}};
}

std::string ResultText(const v1::Result& result) {
  const v1::Evaluation& evaluation = result.evaluation();
  const double error = evaluation.standard_deviation() / std::sqrt(std::max(1u, evaluation.episodes()));
  return absl::StrFormat(
      "best: mean return %.1f, standard error %.1f, over %d episodes, %s; weights of learner step %d, after %d "
      "environment steps",
      evaluation.mean_return(), error, evaluation.episodes(), result.confirmed() ? "confirmed" : "not confirmed",
      evaluation.version().version(), evaluation.env_steps());
}

}  // namespace waggle
