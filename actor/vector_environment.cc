#include "actor/vector_environment.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::vector<std::unique_ptr<Environment>>> MakeEnvironments(const EnvironmentDefinition& definition,
                                                                           const EnvironmentOptions& options,
                                                                           int64_t lanes, Rng rng) {
  if (lanes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("lanes: ", lanes, "; wanted at least 1"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec spec, definition.spec(options));
  WAGGLE_RETURN_IF_ERROR(spec.Validate());
  std::vector<std::unique_ptr<Environment>> environments;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    auto environment = definition.create(options, rng.Next());
    if (!environment.ok()) {
      return Annotate(environment.status(), absl::StrCat("lane ", lane));
    }
    if (!((*environment)->spec() == spec)) {
      return absl::InvalidArgumentError(absl::StrCat("lane ", lane, " is ", (*environment)->spec().DebugString(),
                                                     "; its definition says ", spec.DebugString()));
    }
    environments.push_back(*std::move(environment));
  }
  return environments;
}

VectorEnvironment::VectorEnvironment(std::vector<std::unique_ptr<Environment>> environments)
    : environments_(std::move(environments)),
      spec_(environments_[0]->spec()),
      observation_bytes_(static_cast<size_t>(spec_.observation.NumBytes())),
      action_bytes_(static_cast<size_t>(spec_.action.Array().NumBytes())),
      rewards_(environments_.size()),
      discounts_(environments_.size()),
      running_(environments_.size()) {
  for (Frame& frame : frames_) {
    frame.observations.resize(environments_.size() * observation_bytes_);
    frame.step_types.resize(environments_.size());
    frame.first.resize(environments_.size());
  }
  finished_.reserve(environments_.size());
}

absl::Status VectorEnvironment::Reset() {
  finished_.clear();
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    rewards_[lane] = 0;
    discounts_[lane] = 0;
    WAGGLE_RETURN_IF_ERROR(StartEpisode(lane, &frames_[current_]));
  }
  return absl::OkStatus();
}

absl::Status VectorEnvironment::Step(const void* actions) {
  const Frame& present = frames_[current_];
  Frame* next = &frames_[1 - current_];
  const char* action = static_cast<const char*>(actions);
  finished_.clear();
  for (size_t lane = 0; lane < environments_.size(); ++lane, action += action_bytes_) {
    if (present.step_types[lane] == static_cast<int32_t>(StepType::kLast)) {
      rewards_[lane] = 0;
      discounts_[lane] = 0;
      WAGGLE_RETURN_IF_ERROR(StartEpisode(lane, next));
    } else {
      WAGGLE_RETURN_IF_ERROR(StepLane(lane, action, next));
    }
  }
  current_ = 1 - current_;
  return absl::OkStatus();
}

LaneObservations VectorEnvironment::View(size_t frame) const {
  const Frame& shown = frames_[frame];
  return {shown.observations.data(), shown.step_types.data(), shown.first.data()};
}

absl::Status VectorEnvironment::StepLane(size_t lane, const char* action, Frame* next) {
  const auto outcome = environments_[lane]->Step(action, next->observations.data() + lane * observation_bytes_);
  if (!outcome.ok()) {
    return Annotate(outcome.status(), absl::StrCat("lane ", lane));
  }
  if (!std::isfinite(outcome->reward)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lane ", lane, ": ", spec_.name, " gave a reward of ", outcome->reward, "; wanted a finite one"));
  }
  ++env_steps_;
  rewards_[lane] = outcome->reward;
  discounts_[lane] = outcome->terminated ? 0.0F : 1.0F;
  FinishedEpisode& episode = running_[lane];
  ++episode.steps;
  episode.total_reward += outcome->reward;
  const bool last = outcome->terminated || outcome->truncated;
  next->step_types[lane] = static_cast<int32_t>(last ? StepType::kLast : StepType::kMid);
  next->first[lane] = 0;
  if (last) {
    finished_.push_back(episode);
  }
  return absl::OkStatus();
}

absl::Status VectorEnvironment::StartEpisode(size_t lane, Frame* frame) {
  const absl::Status started = environments_[lane]->Reset(frame->observations.data() + lane * observation_bytes_);
  if (!started.ok()) {
    return Annotate(started, absl::StrCat("lane ", lane));
  }
  frame->step_types[lane] = static_cast<int32_t>(StepType::kFirst);
  frame->first[lane] = 1;
  running_[lane] = FinishedEpisode{static_cast<int64_t>(lane), 0, 0};
  return absl::OkStatus();
}

}  // namespace waggle
