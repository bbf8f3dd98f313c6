#include "actor/environments/episodic_environment.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"

namespace waggle {

EpisodicEnvironment::EpisodicEnvironment(EnvironmentSpec spec) : spec_(std::move(spec)), checker_(spec_) {}

absl::Status EpisodicEnvironment::Reset(absl::Span<void* const> observations) {
  BeginEpisode();
  Start(observations);
  checker_.SeeMasks(observations);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> EpisodicEnvironment::Step(absl::Span<const void* const> actions,
                                                      absl::Span<void* const> observations, float* rewards) {
  if (!running_) {
    return absl::FailedPreconditionError(
        absl::StrCat(spec_.name, ": got a step outside an episode; wanted a reset before it"));
  }
  if (const absl::Status checked = checker_.Check(actions); !checked.ok()) {
    return Annotate(checked, spec_.name);
  }
  StepOutcome outcome;
  outcome.terminated = Advance(actions, observations, rewards);
  outcome.truncated = ++steps_ == spec_.max_episode_steps;
  running_ = !outcome.terminated && !outcome.truncated;
  checker_.SeeMasks(observations);
  return outcome;
}

void EpisodicEnvironment::BeginEpisode() {
  steps_ = 0;
  running_ = true;
}

}  // namespace waggle
