#include "actor/evaluator.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/scalar_reward.h"
#include "common/base/status_macros.h"
#include "common/metrics/sample_statistics.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::Create(const EnvironmentDefinition& definition,
                                                             const EnvironmentOptions& options, int64_t lanes, Rng rng,
                                                             Policy* policy) {
  if (lanes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("evaluation episodes: ", lanes, "; wanted at least 1"));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Environment>> environments,
                          MakeEnvironments(definition, options, lanes, std::move(rng)));
  // The constructor is private.
  return std::unique_ptr<Evaluator>(new Evaluator(std::move(environments), policy));
}

Evaluator::Evaluator(std::vector<std::unique_ptr<Environment>> environments, Policy* policy)
    : environments_(std::move(environments), "evaluation lane"),
      lanes_(static_cast<int64_t>(environments_.size())),
      policy_(policy),
      buffers_(*policy, environments_.spec().actions, lanes_),
      observations_(ArraysOf(environments_.spec().observations), lanes_),
      first_(environments_.size()) {
  outcomes_.returns.resize(environments_.size());
  outcomes_.lengths.resize(environments_.size());
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
  return evaluation;
}

absl::StatusOr<EpisodeOutcomes> Evaluator::RunEpisodes(int64_t episodes, const StopToken& stop) {
  EpisodeOutcomes all;
  const auto append = [](const std::vector<double>& from, int64_t count, std::vector<double>* to) {
    to->insert(to->end(), from.begin(), from.begin() + count);
  };
  for (int64_t left = episodes; left > 0;) {
    const int64_t round = std::min(left, lanes_);
    WAGGLE_RETURN_IF_ERROR(RunRound(round, stop));
    append(outcomes_.returns, round, &all.returns);
    append(outcomes_.lengths, round, &all.lengths);
    left -= round;
  }
  return all;
}

absl::Status Evaluator::RunRound(int64_t episodes, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(StartEpisodes(episodes));
  PolicyInput input;
  input.observations = observations_.pointers();
  input.first = first_.data();
  while (!running_.empty()) {
    if (stop.StopRequested()) {
      return absl::CancelledError("the evaluation was stopped");
    }
    input.slots = running_;
    WAGGLE_RETURN_IF_ERROR(policy_->Act(input, ActMode::kGreedy, buffers_.output()));
    WAGGLE_RETURN_IF_ERROR(StepLanes());
  }
  return absl::OkStatus();
}

absl::Status Evaluator::StartEpisodes(int64_t episodes) {
  running_.resize(static_cast<size_t>(episodes));
  std::iota(running_.begin(), running_.end(), 0);
  for (size_t lane = 0; lane < running_.size(); ++lane) {
    WAGGLE_RETURN_IF_ERROR(environments_.Reset(lane, observations_.pointers(), lane));
  }
  std::fill(first_.begin(), first_.end(), 1);
  std::fill(outcomes_.returns.begin(), outcomes_.returns.end(), 0.0);
  std::fill(outcomes_.lengths.begin(), outcomes_.lengths.end(), 0.0);
  return absl::OkStatus();
}

absl::Status Evaluator::StepLanes() {
  size_t running = 0;
  for (size_t row = 0; row < running_.size(); ++row) {
    const auto lane = static_cast<size_t>(running_[row]);
    // Those that go on move together. What a final observation is written to is the next lane's.
    WAGGLE_ASSIGN_OR_RETURN(const LaneStep step, environments_.Step(lane, buffers_.output()->actions, row,
                                                                    observations_.pointers(), running));
    outcomes_.returns[lane] += ScalarReward(environments_.spec().rewards, step.rewards, 0);
    outcomes_.lengths[lane] += 1;
    if (!step.terminated && !step.truncated) {
      running_[running++] = running_[row];
    }
  }
  running_.resize(running);
  std::fill(first_.begin(), first_.end(), 0);
  return absl::OkStatus();
}

}  // namespace waggle
