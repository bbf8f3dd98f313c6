#include "actor/evaluation/saved_evaluation_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json OrNull(const std::optional<Value>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

const char* KindText(SavedKind kind) {
  switch (kind) {
    case SavedKind::kRandom:
      return "random actions";
    case SavedKind::kBest:
      return "the best weights";
    case SavedKind::kNewest:
      return "the newest weights, which need not be the best";
    case SavedKind::kLearner:
      return "a learner's checkpoint";
    default:
      return "weights";
  }
}

std::string RangeText(const SampleStatistics& statistics) {
  return absl::StrFormat("from %.6g to %.6g", statistics.min, statistics.max);
}

}  // namespace

std::string SavedEvaluationText(const SavedEvaluation& evaluation) {
  const SampleStatistics& returns = evaluation.returns;
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    absl::StrAppendFormat(&text, "%-12s%s\n", name, value);
  };
  add("evaluated",
      absl::StrCat(evaluation.folder, ", ", evaluation.scripted ? "the script" : KindText(evaluation.kind)));
  add("experiment", absl::StrCat(evaluation.experiment, ": ", evaluation.algorithm, " on ", evaluation.environment));
  if (evaluation.version.has_value()) {
    std::string version = absl::StrCat("learner step ", *evaluation.version);
    if (evaluation.env_steps.has_value()) {
      absl::StrAppend(&version, ", ", static_cast<int64_t>(*evaluation.env_steps), " environment steps");
    }
    add("version", version);
  }
  add("episodes", absl::StrFormat("%d, %s, seed %d, in %.3g s", returns.count,
                                  evaluation.scripted                     ? "scripted"
                                  : evaluation.kind == SavedKind::kRandom ? "random"
                                  : evaluation.explored                   ? "exploring"
                                                                          : "greedy",
                                  evaluation.seed, evaluation.seconds));
  if (returns.count > 1) {
    add("return",
        absl::StrFormat("%.6g ± %.3g, the mean and its standard error", returns.mean, returns.StandardError()));
    add("spread", absl::StrFormat("standard deviation %.4g, %s", returns.standard_deviation, RangeText(returns)));
  } else {
    add("return", absl::StrFormat("%.6g", returns.mean));
  }
  add("length", absl::StrFormat("%.6g steps on average, %s", evaluation.lengths.mean, RangeText(evaluation.lengths)));
  if (evaluation.recorded.has_value()) {
    add("recorded", *evaluation.recorded);
  }
  if (evaluation.video.has_value()) {
    add("video", *evaluation.video);
  }
  return text;
}

std::string SavedEvaluationJson(const SavedEvaluation& evaluation) {
  const SampleStatistics& returns = evaluation.returns;
  // One episode has no spread.
  const bool spread = returns.count > 1;
  Json json;
  json["path"] = evaluation.folder;
  json["kind"] = evaluation.scripted ? "scripted" : SavedKindName(evaluation.kind);
  json["experiment"] = evaluation.experiment;
  json["algorithm"] = evaluation.algorithm;
  json["environment"] = evaluation.environment;
  json["version"] = {{"epoch", OrNull(evaluation.epoch)}, {"version", OrNull(evaluation.version)}};
  json["env_steps"] = evaluation.env_steps.has_value() ? Json(static_cast<int64_t>(*evaluation.env_steps)) : Json();
  json["episodes"] = returns.count;
  json["seed"] = evaluation.seed;
  json["mean_return"] = returns.mean;
  json["standard_error"] = spread ? Json(returns.StandardError()) : Json();
  json["standard_deviation"] = spread ? Json(returns.standard_deviation) : Json();
  json["min_return"] = returns.min;
  json["max_return"] = returns.max;
  json["mean_length"] = evaluation.lengths.mean;
  json["min_length"] = static_cast<int64_t>(evaluation.lengths.min);
  json["max_length"] = static_cast<int64_t>(evaluation.lengths.max);
  json["seconds"] = evaluation.seconds;
  json["recorded"] = OrNull(evaluation.recorded);
  json["video"] = OrNull(evaluation.video);
  // Bytes that are not UTF-8 are replaced, so that this does not throw.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace waggle
