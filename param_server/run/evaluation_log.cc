#include "param_server/run/evaluation_log.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "param_server/run/counter_limit.h"

namespace waggle {
namespace {

constexpr size_t kMaxEvaluations = 1'000;
constexpr size_t kMaxRewards = 65'536;  // The most dimensions of a reward.

}  // namespace

absl::Status Validate(const Evaluation& evaluation) {
  if (evaluation.episodes < 1 || !std::isfinite(evaluation.mean_return) || !std::isfinite(evaluation.min_return) ||
      !std::isfinite(evaluation.max_return) || !std::isfinite(evaluation.standard_deviation) ||
      !std::isfinite(evaluation.mean_length)) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation: got ", evaluation.episodes, " episodes with returns of mean ", evaluation.mean_return,
                     ", minimum ", evaluation.min_return, ", maximum ", evaluation.max_return,
                     " and standard deviation ", evaluation.standard_deviation, ", of mean length ",
                     evaluation.mean_length, "; wanted at least one episode and finite numbers"));
  }
  if (evaluation.mean_rewards.size() > kMaxRewards ||
      !std::all_of(evaluation.mean_rewards.begin(), evaluation.mean_rewards.end(),
                   [](double reward) { return std::isfinite(reward); })) {
    return absl::InvalidArgumentError(absl::StrCat("evaluation.mean_rewards: got ", evaluation.mean_rewards.size(),
                                                   " numbers; wanted at most ", kMaxRewards, ", all finite"));
  }
  if (evaluation.env_steps > static_cast<uint64_t>(kMaxCounter)) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation.env_steps: got ", evaluation.env_steps, "; wanted at most 2^53"));
  }
  return absl::OkStatus();
}

bool EvaluationLog::Add(const DatedEvaluation& dated) {
  absl::Time& last = last_of_.emplace(dated.worker_id, absl::InfinitePast()).first->second;
  if (dated.finished <= last) {
    return false;
  }
  last = dated.finished;
  ++count_;
  newest_.push_back(dated);
  if (newest_.size() > kMaxEvaluations) {
    newest_.pop_front();
  }
  return true;
}

void EvaluationLog::KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report) {
  for (auto last = last_of_.begin(); last != last_of_.end();) {
    last = may_report(last->first) ? std::next(last) : last_of_.erase(last);
  }
}

}  // namespace waggle
