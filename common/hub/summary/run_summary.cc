#include "common/hub/summary/run_summary.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/hub/summary/result_report.h"
#include "common/hub/summary/run_counts.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(std::optional<double> value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

}  // namespace

Json RunSummary::AsJson() const {
  Json json;
  json["id"] = id;
  json["experiment"] = experiment;
  json["algorithm"] = algorithm;
  json["environment"] = environment;
  json["seed"] = seed;
  json["outcome"] = outcome;
  json["reason"] = reason;
  json["env_steps"] = static_cast<int64_t>(env_steps);
  json["learner_steps"] = static_cast<int64_t>(learner_steps);
  json["wall_seconds"] = wall_seconds;
  json["seconds_to_first_env_step"] = OrNull(seconds_to_first_env_step);
  json["result"] = ResultJson(result);
  json["rates"] = {{"env_steps_per_s", env_steps_per_s},
                   {"items_inserted_per_s", items_inserted_per_s},
                   {"items_sampled_per_s", items_sampled_per_s},
                   {"learner_steps_per_s", learner_steps_per_s}};
  if (gradients.has_value()) {
    json["rates"]["gradients_pushed_per_s"] = gradients_pushed_per_s;
  }
  json["policy_lag"] = {{"mean", OrNull(policy_lag_mean)}, {"max", OrNull(policy_lag_max)}};
  Json& lags = json["policy_lag"]["items"] = Json::object();
  for (size_t bucket = 0; bucket < kLagBuckets; ++bucket) {
    if (policy_lags[bucket] > 0) {
      lags[LagBucketName(bucket)] = static_cast<int64_t>(policy_lags[bucket]);
    }
  }
  json["items_too_old"] = static_cast<int64_t>(items_too_old);
  for (const auto& [name, text] : {std::pair("waggle", &waggle_version), std::pair("libtorch", &libtorch_version)}) {
    if (!text->empty()) {
      json["software"][name] = *text;
    }
  }
  if (!machine.empty()) {
    json["machine"] = machine;
  }
  json["gradients"] = GradientsJson(gradients);
  json["processes"] = Json::array();
  for (const ProcessSummary& process : processes) {
    json["processes"].push_back({{"role", process.role},
                                 {"index", process.index},
                                 {"pid", process.pid},
                                 {"exit", process.exit},
                                 {"peak_rss_mib", process.peak_rss_mebibytes}});
  }
  return json;
}

std::string RunSummary::ToJson() const {
  return AsJson().dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void FillFromOverview(const v1::OverviewResponse& overview, absl::Time started_at, RunSummary* summary) {
  const RunCounts counts = CountsOf(overview);
  summary->env_steps = static_cast<double>(overview.env_steps());
  summary->learner_steps = static_cast<double>(overview.learner_steps());
  if (overview.has_result()) {
    summary->result = overview.result();
  }
  if (counts.first_env_step_unix.has_value()) {
    // A run that goes on took its first step before it was started again.
    if (const double seconds = *counts.first_env_step_unix - absl::ToDoubleSeconds(started_at - absl::UnixEpoch());
        seconds >= 0) {
      summary->seconds_to_first_env_step = seconds;
    }
  }
  const double seconds = summary->wall_seconds = static_cast<double>(overview.running_ms()) / 1e3;
  if (seconds > 0) {
    // `seconds` has no time without a hub, so neither may the counts.
    const auto rate = [&overview, seconds](double total, const char* name) {
      const auto unseen = overview.totals_unseen().find(name);
      return (total - (unseen == overview.totals_unseen().end() ? 0 : unseen->second)) / seconds;
    };
    summary->env_steps_per_s = rate(summary->env_steps, "actor/env_steps");
    summary->items_inserted_per_s = rate(counts.items_inserted, "replay/items_inserted");
    summary->items_sampled_per_s = rate(counts.items_sampled, "replay/items_sampled");
    summary->learner_steps_per_s = rate(summary->learner_steps, "learner/learner_steps");
    summary->gradients_pushed_per_s =
        counts.gradients.has_value()
            ? rate(counts.gradients->pushed,
                   counts.gradients->by_learners ? "learner/gradients_pushed" : "actor/gradients_pushed")
            : 0;
  }
  if (counts.items_learned > 0) {
    summary->policy_lag_mean = counts.policy_lag_sum / counts.items_learned;
  }
  summary->policy_lag_max = counts.policy_lag_max;
  summary->policy_lags = counts.policy_lags;
  summary->items_too_old = counts.items_too_old;
  summary->gradients = counts.gradients;
}

}  // namespace waggle
