#include "actor/evaluation/evaluator.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "actor/writing/scalar_reward.h"
#include "common/base/log.h"
#include "common/base/metrics/sample_statistics.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// A greedy policy may never end an episode. A warning is logged after this many steps.
constexpr int64_t kLongEpisode = 20'000;

}  // namespace

Evaluator::Evaluator(std::unique_ptr<VectorEnvironment> environments, Policy* policy)
    : environments_(std::move(environments)),
      lanes_(environments_->lanes()),
      policy_(policy),
      buffers_(*policy, environments_->spec().actions, lanes_),
      observations_(ArraysOf(environments_->spec().observations), lanes_),
      first_(static_cast<size_t>(lanes_)),
      over_(static_cast<size_t>(lanes_)) {
  outcomes_.returns.resize(static_cast<size_t>(lanes_));
  outcomes_.lengths.resize(static_cast<size_t>(lanes_));
  if (const std::vector<ArraySpec>& rewards = environments_->spec().rewards;
      rewards.size() == 1 && !rewards[0].shape.empty()) {
    outcomes_.reward_sums.resize(static_cast<size_t>(rewards[0].NumElements()));
  }
}

absl::StatusOr<Evaluation> Evaluator::Evaluate(int64_t episodes, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const EpisodeOutcomes outcomes, RunEpisodes(episodes, stop));
  const SampleStatistics returns = StatisticsOf(outcomes.returns);
  Evaluation evaluation;
  evaluation.episodes = returns.count;
  evaluation.mean_return = returns.mean;
  evaluation.min_return = returns.min;
  evaluation.max_return = returns.max;
  evaluation.standard_deviation = returns.standard_deviation;
  evaluation.mean_length = StatisticsOf(outcomes.lengths).mean;
  const double steps = std::accumulate(outcomes.lengths.begin(), outcomes.lengths.end(), 0.0);
  for (const double sum : outcomes.reward_sums) {
    evaluation.mean_rewards.push_back(sum / steps);
  }
  return evaluation;
}

absl::StatusOr<EpisodeOutcomes> Evaluator::RunEpisodes(int64_t episodes, const StopToken& stop) {
  EpisodeOutcomes all;
  all.reward_sums.resize(outcomes_.reward_sums.size());
  const auto append = [](const std::vector<double>& from, int64_t count, std::vector<double>* to) {
    to->insert(to->end(), from.begin(), from.begin() + count);
  };
  for (int64_t left = episodes; left > 0;) {
    const int64_t round = std::min(left, lanes_);
    const int64_t broken = environments_->health().broken_episodes;
    WAGGLE_RETURN_IF_ERROR(RunRound(round, stop));
    if (environments_->health().broken_episodes > broken) {
      continue;
    }
    append(outcomes_.returns, round, &all.returns);
    append(outcomes_.lengths, round, &all.lengths);
    std::transform(all.reward_sums.begin(), all.reward_sums.end(), outcomes_.reward_sums.begin(),
                   all.reward_sums.begin(), std::plus<>());
    left -= round;
  }
  return all;
}

absl::Status Evaluator::RunRound(int64_t episodes, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(StartEpisodes(episodes));
  auto under_way = static_cast<int64_t>(environments_->lanes_step_together() ? lanes_ : episodes);
  for (int64_t rows = 0;; ++rows) {
    if (rows == kLongEpisode && environments_->spec().max_episode_steps == 0) {
      LogWarning("evaluation: ", episodes_running_, " episodes have taken ", rows,
                 " steps and continue; an environment without an end needs a time limit: environment.transforms: "
                 "[{time_limit: {steps: ...}}]");
    }
    WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, environments_->Recv(under_way, stop));
    TakeRows(ready);
    under_way = static_cast<int64_t>(acting_.size());
    if (under_way == 0) {
      return absl::OkStatus();
    }
    // No lane is under way here, so another round may follow.
    if (stop.StopRequested()) {
      return absl::CancelledError("the evaluation was stopped");
    }
    WAGGLE_RETURN_IF_ERROR(SendActions());
  }
}

absl::Status Evaluator::StartEpisodes(int64_t episodes) {
  std::fill(outcomes_.returns.begin(), outcomes_.returns.end(), 0.0);
  std::fill(outcomes_.lengths.begin(), outcomes_.lengths.end(), 0.0);
  std::fill(outcomes_.reward_sums.begin(), outcomes_.reward_sums.end(), 0.0);
  std::fill(over_.begin(), over_.end(), 1);
  std::fill_n(over_.begin(), episodes, 0);
  episodes_running_ = episodes;
  std::vector<int64_t> started(static_cast<size_t>(environments_->lanes_step_together() ? lanes_ : episodes));
  std::iota(started.begin(), started.end(), 0);
  return environments_->Start(started);
}

void Evaluator::TakeRows(const ReadyLanes& ready) {
  acting_.clear();
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    const auto lane = static_cast<size_t>(ready.lanes[row]);
    if (over_[lane] == 0 && ready.first[row] == 0) {
      outcomes_.returns[lane] += ScalarReward(environments_->spec().rewards, ready.rewards, row);
      outcomes_.lengths[lane] += 1;
      std::vector<double>& sums = outcomes_.reward_sums;
      for (size_t i = 0; i < sums.size(); ++i) {
        sums[i] += static_cast<double>(ready.rewards[0][row * sums.size() + i]);
      }
      if (ready.step_types[row] == static_cast<int32_t>(StepType::kLast)) {
        over_[lane] = 1;
        --episodes_running_;
      }
    }
    // If lanes step together, a lane acts until all episodes are over.
    if (over_[lane] == 0 || environments_->lanes_step_together()) {
      observations_.CopyRow(ready.observations, row, acting_.size());
      first_[acting_.size()] = ready.first[row];
      acting_.push_back(ready.lanes[row]);
    }
  }
  if (episodes_running_ == 0) {
    acting_.clear();
  }
}

absl::Status Evaluator::SendActions() {
  PolicyInput input;
  input.slots = acting_;
  input.observations = observations_.pointers();
  input.first = first_.data();
  WAGGLE_RETURN_IF_ERROR(policy_->Act(input, ActMode::kGreedy, buffers_.output()));
  return environments_->Send(acting_, buffers_.output()->actions);
}

}  // namespace waggle
