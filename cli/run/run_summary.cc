#include "cli/run/run_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/status/result_report.h"

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

void SummaryBuilder::Add(const RunFacts& facts) {
  // A server that was stopped has nothing to say any more; what it said before stands.
  const std::optional<RunFacts> before = std::exchange(newest_, facts);
  if (before.has_value()) {
    newest_->items_inserted = std::max(facts.items_inserted, before->items_inserted);
    newest_->items_sampled = std::max(facts.items_sampled, before->items_sampled);
    newest_->items_too_old = std::max(facts.items_too_old, before->items_too_old);
    if (facts.table_max_items == 0) {
      newest_->table_items = before->table_items;
      newest_->table_max_items = before->table_max_items;
      newest_->replay_servers_unheard = before->replay_servers_unheard;
    }
    if (before->items_learned > facts.items_learned) {
      newest_->items_learned = before->items_learned;
      newest_->policy_lag_sum = before->policy_lag_sum;
      newest_->policy_lags = before->policy_lags;
    }
    if (before->gradients.has_value() &&
        (!facts.gradients.has_value() || facts.gradients->pushed < before->gradients->pushed)) {
      newest_->gradients = before->gradients;
    }
    if (!newest_->first_env_step_unix.has_value()) {
      newest_->first_env_step_unix = before->first_env_step_unix;
    }
    if (!newest_->training_return.has_value()) {
      newest_->training_return = before->training_return;
    }
  }
  if (facts.policy_lag_max.has_value()) {
    lag_max_ = std::max(*facts.policy_lag_max, lag_max_.value_or(*facts.policy_lag_max));
  }
}

void SummaryBuilder::Fill(RunSummary* summary) const {
  if (!newest_.has_value()) {
    return;
  }
  summary->env_steps = newest_->env_steps;
  summary->learner_steps = newest_->learner_steps;
  summary->result = newest_->result;
  if (newest_->first_env_step_unix.has_value()) {
    summary->seconds_to_first_env_step =
        *newest_->first_env_step_unix - absl::ToDoubleSeconds(started_at_ - absl::UnixEpoch());
  }
  const double seconds = summary->wall_seconds = absl::ToDoubleSeconds(newest_->running);
  if (seconds > 0) {
    summary->env_steps_per_s = newest_->env_steps / seconds;
    summary->items_inserted_per_s = newest_->items_inserted / seconds;
    summary->items_sampled_per_s = newest_->items_sampled / seconds;
    summary->learner_steps_per_s = newest_->learner_steps / seconds;
    if (newest_->gradients.has_value()) {
      summary->gradients_pushed_per_s = newest_->gradients->pushed / seconds;
    }
  }
  if (newest_->items_learned > 0) {
    summary->policy_lag_mean = newest_->policy_lag_sum / newest_->items_learned;
  }
  summary->policy_lag_max = lag_max_;
  summary->policy_lags = newest_->policy_lags;
  summary->items_too_old = newest_->items_too_old;
  summary->gradients = newest_->gradients;
}

std::optional<RunFacts> SummaryBuilder::LastFacts(const RunSummary& summary) const {
  std::optional<RunFacts> facts = newest_;
  if (facts.has_value()) {
    facts->env_steps_per_s = summary.env_steps_per_s;
    facts->items_inserted_per_s = summary.items_inserted_per_s;
    facts->items_sampled_per_s = summary.items_sampled_per_s;
    facts->learner_steps_per_s = summary.learner_steps_per_s;
    facts->policy_lag_mean = summary.policy_lag_mean;
    facts->policy_lag_max = summary.policy_lag_max;
    if (facts->gradients.has_value()) {
      facts->gradients->pushed_per_s = summary.gradients_pushed_per_s;
    }
  }
  return facts;
}

}  // namespace waggle
