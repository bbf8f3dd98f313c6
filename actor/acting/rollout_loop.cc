#include "actor/acting/rollout_loop.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "actor/writing/scalar_reward.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/metrics/waiting_gauge.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/threads/flush_until_stopped.h"
#include "common/base/threads/thread.h"

namespace waggle {
namespace {

constexpr size_t kReturnWindow = 100;  // Episodes whose mean return is reported.
// From one look at the loop's share of unrolls to the next.
constexpr absl::Duration kSharePeriod = absl::Milliseconds(200);

}  // namespace

RolloutLoop::RolloutLoop(const RolloutOptions& options, const Parts& parts)
    : options_(options),
      parts_(parts),
      buffers_(*parts.policy, parts.environments->spec().actions, parts.environments->lanes()),
      pending_(parts.environments->spec(), *parts.policy, parts.environments->lanes()),
      lane_returns_(static_cast<size_t>(parts.environments->lanes())) {}

absl::Status RolloutLoop::Run(const StopToken& stop) {
  absl::Status status = parts_.turns != nullptr ? BeginTurn(stop) : WaitForWeights();
  if (status.ok()) {
    status = ActUntil(stop);
  }
  Report(SteadyNow());
  parts_.metrics->SetActivity("stopped");
  return stop.StopRequested() && absl::IsCancelled(status) ? absl::OkStatus() : status;
}

absl::Status RolloutLoop::WaitForWeights() {
  if (parts_.weights == nullptr) {
    return absl::OkStatus();
  }
  parts_.metrics->SetActivity("waiting for weights");
  parts_.metrics->Set("waiting_fraction", 1);
  LogInfo("waiting for the first weights");
  WAGGLE_ASSIGN_OR_RETURN(ModelSnapshot snapshot, parts_.weights->WaitAndTake());
  while (snapshot.version.version < options_.first_version) {
    WAGGLE_ASSIGN_OR_RETURN(snapshot, parts_.weights->WaitAndTake());
  }
  LogInfo("acting, from version ", snapshot.version.version, " of the weights on");
  return LoadWeights(snapshot);
}

absl::Status RolloutLoop::LoadWeights(const ModelSnapshot& snapshot) {
  WAGGLE_RETURN_IF_ERROR(parts_.policy->LoadWeights(snapshot));
  if (parts_.on_weights != nullptr) {
    WAGGLE_RETURN_IF_ERROR(parts_.on_weights(snapshot));
  }
  policy_version_ = snapshot.version;
  version_unrolls_ = 0;
  loaded_at_ns_ = absl::ToInt64Nanoseconds(SteadyElapsed());
  parts_.metrics->Add("process/weights_loaded", 1);
  return absl::OkStatus();
}

absl::Status RolloutLoop::BeginTurn(const StopToken& stop) {
  parts_.metrics->SetActivity("waiting for its turn");
  WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment, parts_.turns->Await(stop));
  while (assignment.model_version.has_value() && policy_version_ < *assignment.model_version) {
    WAGGLE_ASSIGN_OR_RETURN(const ModelSnapshot snapshot, parts_.weights->WaitAndTake());
    WAGGLE_RETURN_IF_ERROR(LoadWeights(snapshot));
  }
  block_began_ = SteadyNow();
  return absl::OkStatus();
}

absl::Status RolloutLoop::EndTurn(const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(
      FlushUntilStopped([this](absl::Duration timeout) { return parts_.sink->Flush(timeout); }, stop));
  Report(SteadyNow());
  parts_.turns->End();
  return absl::OkStatus();
}

absl::Status RolloutLoop::ActUntil(const StopToken& stop) {
  const WaitingGauge gauge(parts_.metrics, {"acting", "waiting for room in replay"}, [this] {
    const ReplayWriter::Stats sink = parts_.sink->stats();
    const StepBudget::Stats budget = parts_.budget == nullptr ? StepBudget::Stats() : parts_.budget->stats();
    const WeightRefresher::Stats weights =
        parts_.weights == nullptr ? WeightRefresher::Stats() : parts_.weights->stats();
    const Policy::Waits actions = parts_.policy->waits();
    const TurnTaker::Stats turns = parts_.turns == nullptr ? TurnTaker::Stats() : parts_.turns->stats();
    return WaitingGauge::Wait{sink.waited + budget.waited + weights.waited + turns.waited + actions.waited,
                              sink.waiting || budget.waiting || weights.waiting || turns.waiting || actions.waiting,
                              budget.waiting    ? "waiting for steps"
                              : actions.waiting ? "waiting for actions"
                              : weights.waiting ? "waiting for newer weights"
                              : turns.waiting   ? "waiting for its turn"
                                                : nullptr,
                              {{"room_waiting_fraction", sink.waited},
                               {"actions_waiting_fraction", actions.waited},
                               {"weights_waiting_fraction", weights.waited},
                               {"steps_waiting_fraction", budget.waited},
                               {"environment_fraction", environment_time()}}};
  });
  // At each snapshot, because it grows by time alone.
  const auto age = parts_.metrics->BeforeSnapshot([this] {
    if (const int64_t loaded = loaded_at_ns_; loaded > 0) {
      parts_.metrics->Set("process/weights_age_seconds",
                          absl::ToDoubleSeconds(SteadyElapsed() - absl::Nanoseconds(loaded)));
    }
  });
  WAGGLE_RETURN_IF_ERROR(parts_.environments->Reset());
  WAGGLE_ASSIGN_OR_RETURN(ready_, Receive(stop));
  block_began_ = reported_at_ = SteadyNow();
  WAGGLE_RETURN_IF_ERROR(WaitForBudget(stop, block_began_));
  WAGGLE_RETURN_IF_ERROR(StepOnce(stop));
  parts_.metrics->Set("first_env_step_unix_seconds", absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  Report(SteadyNow());
  if (parts_.on_first_step != nullptr) {
    parts_.on_first_step();
  }
  while (!stop.StopRequested()) {
    const absl::Time now = SteadyNow();
    const bool is_old = parts_.turns == nullptr && now - block_began_ >= options_.max_block_age;
    if (parts_.writer->BlockIsFull() || is_old) {
      WAGGLE_RETURN_IF_ERROR(FinishBlock(stop));
    }
    WAGGLE_RETURN_IF_ERROR(WaitForBudget(stop, now));
    const absl::Status stepped = StepOnce(stop);
    if (absl::IsCancelled(stepped) && stop.StopRequested()) {
      break;
    }
    WAGGLE_RETURN_IF_ERROR(stepped);
  }
  return Drain();
}

absl::Status RolloutLoop::WaitForBudget(const StopToken& stop, absl::Time now) {
  // Allows() also reports the steps taken. Actors in step wait for each other, so they must not wait for the last steps
  // of one of them: they act until the hub ends the run. An unroll is not cut short.
  const bool can_wait = options_.rows_per_version == 0 || (!options_.awaits_versions && version_rows_ == 0);
  if (parts_.budget == nullptr || parts_.budget->Allows(env_steps_, now) || !can_wait) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(FinishBlock(stop));
  Report(SteadyNow());
  WAGGLE_RETURN_IF_ERROR(parts_.budget->Wait());
  block_began_ = SteadyNow();
  return options_.rows_per_version > 0 ? TakeNewest() : absl::OkStatus();
}

absl::Status RolloutLoop::TakeNewest() {
  if (parts_.weights == nullptr) {
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<ModelSnapshot> newest, parts_.weights->Take());
  return newest.has_value() ? LoadWeights(*newest) : absl::OkStatus();
}

absl::Status RolloutLoop::StepOnce(const StopToken& stop) {
  PolicyInput input;
  input.slots = ready_.lanes;
  input.observations = ready_.observations;
  input.first = ready_.first;
  PolicyOutput* output = buffers_.output();
  WAGGLE_RETURN_IF_ERROR(parts_.policy->Act(input, ActMode::kExplore, output));
  if (const std::optional<ModelVersion> acted = parts_.policy->acted_version();
      acted.has_value() && parts_.writer->block_rows() == 0) {
    policy_version_ = *acted;  // The oldest weights that act in the block.
  }
  pending_.Keep(ready_, *output);
  CountSteps();
  {
    MutexLock lock(&environment_mutex_);
    environment_clock_.Begin();
  }
  const absl::Status sent = parts_.environments->Send(ready_.lanes, output->actions);
  absl::StatusOr<ReadyLanes> received = sent.ok() ? Receive(stop) : sent;
  {
    MutexLock lock(&environment_mutex_);
    environment_clock_.End();
  }
  WAGGLE_ASSIGN_OR_RETURN(ready_, std::move(received));
  if (const PendingRows::Complete complete = pending_.Take(ready_); !complete.lanes.empty()) {
    WAGGLE_RETURN_IF_ERROR(parts_.writer->Append(complete.lanes, complete.rows));
  }
  CountEpisodes();
  return options_.rows_per_version > 0 && ++version_rows_ == options_.rows_per_version ? FinishUnroll(stop)
                                                                                       : absl::OkStatus();
}

absl::Duration RolloutLoop::environment_time() const {
  MutexLock lock(&environment_mutex_);
  return environment_clock_.total();
}

// Every lane must be under way.
absl::StatusOr<ReadyLanes> RolloutLoop::Receive(const StopToken& stop) {
  const int64_t lanes = parts_.environments->lanes();
  return parts_.environments->Recv(ActsInStep() ? lanes : std::min(options_.min_ready_lanes, lanes), stop);
}

void RolloutLoop::CountSteps() {
  const int32_t* const step_types = ready_.step_types;
  env_steps_ += static_cast<int64_t>(ready_.lanes.size()) -
                std::count(step_types, step_types + ready_.lanes.size(), static_cast<int32_t>(StepType::kLast));
}

void RolloutLoop::CountEpisodes() {
  const ReadyLanes ready = ready_;
  const std::vector<ArraySpec>& rewards = parts_.environments->spec().rewards;
  Return* const totals = lane_returns_.data();
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    Return& total = totals[ready.lanes[row]];
    if (ready.first[row] != 0) {
      total = {};
      continue;
    }
    if (total.is_over) {
      continue;  // Its last row is shown again: see ProcessEnvironments.
    }
    total.value += ready.raw_rewards != nullptr ? ready.raw_rewards[row] : ScalarReward(rewards, ready.rewards, row);
    if (ready.step_types[row] == static_cast<int32_t>(StepType::kLast)) {
      total.is_over = true;
      ++new_episodes_;
      returns_.push_back(total.value);
      if (returns_.size() > kReturnWindow) {
        returns_.pop_front();
      }
    }
  }
}

absl::Status RolloutLoop::FinishBlock(const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(Flush(stop));
  if (options_.rows_per_version > 0) {
    return absl::OkStatus();
  }
  if (parts_.turns != nullptr) {
    WAGGLE_RETURN_IF_ERROR(EndTurn(stop));
    return BeginTurn(stop);
  }
  return TakeNewest();
}

absl::Status RolloutLoop::FinishUnroll(const StopToken& stop) {
  if (parts_.writer->BlockIsFull()) {
    WAGGLE_RETURN_IF_ERROR(Flush(stop));
  }
  const PendingRows::Complete shown = pending_.Show(ready_);
  WAGGLE_RETURN_IF_ERROR(parts_.writer->Append(shown.lanes, shown.rows));
  WAGGLE_RETURN_IF_ERROR(Flush(stop));
  version_rows_ = 0;
  ++version_unrolls_;
  if (parts_.turns != nullptr) {
    WAGGLE_RETURN_IF_ERROR(EndTurn(stop));
    return BeginTurn(stop);
  }
  return options_.awaits_versions ? AwaitVersion() : TakeNewest();
}

absl::Status RolloutLoop::AwaitVersion() {
  const auto has_share = [this] {
    return version_unrolls_ >= (parts_.unrolls_per_version != nullptr ? parts_.unrolls_per_version() : 1);
  };
  const absl::Duration look = parts_.unrolls_per_version != nullptr ? kSharePeriod : options_.version_patience;
  const Deadline patience(options_.version_patience);
  while (has_share()) {
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<ModelSnapshot> newer,
                            parts_.weights->WaitAndTake(std::min(look, patience.Left())));
    block_began_ = SteadyNow();
    if (newer.has_value()) {
      return LoadWeights(*newer);
    }
    if (patience.Left() <= absl::ZeroDuration()) {
      LogWarning("no weights after version ", policy_version_.version, " within ",
                 absl::FormatDuration(options_.version_patience), ": acting for another unroll by these");
      return absl::OkStatus();
    }
  }
  return TakeNewest();
}

absl::Status RolloutLoop::Flush(const StopToken& stop) {
  const int64_t items = parts_.writer->items_written();
  WAGGLE_RETURN_IF_ERROR(parts_.writer->Flush(policy_version_.version, stop));
  CountInserted(parts_.writer->items_written() - items);
  if (parts_.all_lanes != nullptr) {
    parts_.policy->SetAllLanes(parts_.all_lanes());
  }
  if (parts_.take_settings != nullptr) {
    WAGGLE_RETURN_IF_ERROR(parts_.take_settings());
  }
  block_began_ = SteadyNow();
  // In lock-step metrics are reported at the end of a turn.
  if (parts_.turns == nullptr && block_began_ - reported_at_ >= options_.report_period) {
    Report(block_began_);
  }
  return absl::OkStatus();
}

void RolloutLoop::CountInserted(int64_t items) {
  const std::optional<ModelVersion> newest =
      parts_.weights == nullptr ? parts_.policy->acted_version() : parts_.weights->stats().newest;
  if (newest.has_value() && newest->epoch == policy_version_.epoch) {
    inserted_lag_sum_ += items * static_cast<int64_t>(newest->version - policy_version_.version);
  }
}

// The last rows are sent after the stop, so they need a stop token of their own.
absl::Status RolloutLoop::Drain() {
  StopToken give_up;
  StopToken drained;
  Thread timer("drain", [give_up, drained, timeout = options_.drain_timeout] {
    if (!drained.WaitFor(timeout)) {
      give_up.RequestStop();
    }
  });
  const absl::Status status = parts_.writer->Flush(policy_version_.version, give_up);
  drained.RequestStop();
  return status;
}

void RolloutLoop::Report(absl::Time now) {
  Metrics& metrics = *parts_.metrics;
  const int64_t items = parts_.writer->items_written();
  metrics.Add("env_steps", static_cast<double>(env_steps_ - std::exchange(reported_env_steps_, env_steps_)));
  metrics.Add("episodes", static_cast<double>(std::exchange(new_episodes_, 0)));
  const auto written = static_cast<double>(items - std::exchange(reported_items_, items));
  metrics.Add("items_written", written);
  if (written > 0) {
    metrics.Set("policy_lag_when_inserted_mean", static_cast<double>(std::exchange(inserted_lag_sum_, 0)) / written);
  }
  metrics.Set("policy_version", static_cast<double>(policy_version_.version));
  if (!returns_.empty()) {
    metrics.Set("return_mean",
                std::accumulate(returns_.begin(), returns_.end(), 0.0) / static_cast<double>(returns_.size()));
  }
  if (const EnvironmentHealth health = parts_.environments->health(); health.processes > 0) {
    const int64_t restarts = health.restarts - std::exchange(reported_restarts_, health.restarts);
    const int64_t broken = health.broken_episodes - std::exchange(reported_broken_episodes_, health.broken_episodes);
    metrics.Set("environment_processes", static_cast<double>(health.processes));
    metrics.Add("environment_restarts", static_cast<double>(restarts));
    metrics.Add("broken_episodes", static_cast<double>(broken));
    metrics.SetLastError(health.last_error);
  }
  reported_at_ = now;
}

}  // namespace waggle
