#include "actor/evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/vector_environment.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::Create(const EnvironmentDefinition& definition,
                                                             const EnvironmentOptions& options, int64_t episodes,
                                                             Rng rng, Policy* policy) {
  if (episodes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("evaluation episodes: ", episodes, "; wanted at least 1"));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Environment>> environments,
                          MakeEnvironments(definition, options, episodes, std::move(rng)));
  // The constructor is private.
  return std::unique_ptr<Evaluator>(new Evaluator(std::move(environments), policy));
}

Evaluator::Evaluator(std::vector<std::unique_ptr<Environment>> environments, Policy* policy)
    : environments_(std::move(environments)),
      observation_bytes_(static_cast<size_t>(environments_[0]->spec().observation.NumBytes())),
      action_bytes_(static_cast<size_t>(environments_[0]->spec().action.Array().NumBytes())),
      policy_(policy),
      buffers_(*policy, environments_[0]->spec().action.Array(), static_cast<int64_t>(environments_.size())),
      observations_(environments_.size() * observation_bytes_),
      first_(environments_.size()),
      running_(environments_.size()),
      returns_(environments_.size()) {}

absl::StatusOr<Evaluation> Evaluator::Evaluate(const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(StartEpisodes());
  PolicyInput input;
  input.lanes = static_cast<int64_t>(environments_.size());
  input.observations = observations_.data();
  input.first = first_.data();
  while (lanes_running_ > 0) {
    if (stop.StopRequested()) {
      return absl::CancelledError("the evaluation was stopped");
    }
    WAGGLE_RETURN_IF_ERROR(policy_->Act(input, ActMode::kGreedy, buffers_.output()));
    WAGGLE_RETURN_IF_ERROR(StepLanes());
  }
  Evaluation evaluation;
  evaluation.episodes = input.lanes;
  const auto episodes = static_cast<double>(returns_.size());
  evaluation.mean_return = std::accumulate(returns_.begin(), returns_.end(), 0.0) / episodes;
  const double squares = std::accumulate(returns_.begin(), returns_.end(), 0.0, [&](double sum, double value) {
    return sum + (value - evaluation.mean_return) * (value - evaluation.mean_return);
  });
  evaluation.standard_deviation = input.lanes > 1 ? std::sqrt(squares / (episodes - 1)) : 0;
  evaluation.mean_length = static_cast<double>(steps_) / episodes;
  const auto [least, most] = std::minmax_element(returns_.begin(), returns_.end());
  evaluation.min_return = *least;
  evaluation.max_return = *most;
  return evaluation;
}

absl::Status Evaluator::StartEpisodes() {
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    const absl::Status started = environments_[lane]->Reset(observations_.data() + lane * observation_bytes_);
    WAGGLE_RETURN_IF_ERROR(Annotate(started, absl::StrCat("evaluation lane ", lane)));
  }
  std::fill(first_.begin(), first_.end(), 1);
  std::fill(running_.begin(), running_.end(), 1);
  std::fill(returns_.begin(), returns_.end(), 0.0);
  steps_ = 0;
  lanes_running_ = static_cast<int64_t>(environments_.size());
  return absl::OkStatus();
}

absl::Status Evaluator::StepLanes() {
  const char* actions = static_cast<const char*>(buffers_.output()->actions);
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    first_[lane] = 0;
    if (running_[lane] == 0) {
      continue;
    }
    const auto outcome =
        environments_[lane]->Step(actions + lane * action_bytes_, observations_.data() + lane * observation_bytes_);
    if (!outcome.ok()) {
      return Annotate(outcome.status(), absl::StrCat("evaluation lane ", lane));
    }
    returns_[lane] += outcome->reward;
    ++steps_;
    if (outcome->terminated || outcome->truncated) {
      running_[lane] = 0;
      --lanes_running_;
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
