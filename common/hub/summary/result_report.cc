#include "common/hub/summary/result_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "common/hub/summary/proto_json.h"

namespace waggle {

nlohmann::ordered_json ResultJson(const std::optional<v1::Result>& result) {
  if (!result.has_value()) {
    return nullptr;
  }
  const v1::Evaluation& evaluation = result->evaluation();
  nlohmann::ordered_json json = ProtoJson(evaluation, {"finished_at_us"});
  json["version"] = ProtoJson(evaluation.version());
  json["learner_steps"] = evaluation.version().version();
  json["confirmed"] = result->confirmed();
  return json;
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
