#include "actor/environments/transforms/time_limit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr double kMaxSteps = 1e9;

}  // namespace

void TimeLimitSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("steps", &steps, In(1, kMaxSteps));
}

absl::Status TimeLimitSettings::Validate() const {
  return steps > 0
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("steps: is missing; wanted ", In(1, kMaxSteps).IntegerText()));
}

absl::Status TimeLimit::Change(const Settings& settings, TransformedSpec* spec) {
  int64_t& limit = spec->spec.max_episode_steps;
  limit = limit == 0 ? settings.steps : std::min(limit, settings.steps);
  return absl::OkStatus();
}

TimeLimit::TimeLimit(const Settings& settings, TransformParts parts)
    : EnvironmentTransform(std::move(parts)),
      steps_(settings.steps),
      steps_taken_(static_cast<size_t>(lanes())),
      is_cut_(static_cast<size_t>(lanes())),
      run_(spec().actions.size()) {
  for (std::vector<int32_t>& step_types : step_types_) {
    step_types.resize(static_cast<size_t>(lanes()));
  }
}

absl::Status TimeLimit::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  // Lanes are sent in the given order, so that they come back in it.
  for (size_t begin = 0; begin < lanes.size();) {
    const uint8_t is_cut = is_cut_[static_cast<size_t>(lanes[begin])];
    size_t end = begin + 1;
    while (end < lanes.size() && is_cut_[static_cast<size_t>(lanes[end])] == is_cut) {
      ++end;
    }
    if (is_cut != 0) {
      WAGGLE_RETURN_IF_ERROR(inner().Start(lanes.subspan(begin, end - begin)));
    } else {
      WAGGLE_RETURN_IF_ERROR(SendRun(lanes, actions, begin, end - begin));
    }
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status TimeLimit::SendRun(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions, size_t begin,
                                size_t count) {
  for (size_t leaf = 0; leaf < run_.size(); ++leaf) {
    run_[leaf] =
        static_cast<const char*>(actions[leaf]) + begin * static_cast<size_t>(spec().actions[leaf].array.NumBytes());
  }
  return inner().Send(lanes.subspan(begin, count), run_);
}

absl::StatusOr<ReadyLanes> TimeLimit::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, inner().Recv(at_least, stop));
  current_ = 1 - current_;
  int32_t* const step_types = step_types_[current_].data();
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    const auto lane = static_cast<size_t>(ready.lanes[row]);
    steps_taken_[lane] = ready.first[row] != 0 ? 0 : steps_taken_[lane] + 1;
    const bool is_cut = steps_taken_[lane] == steps_ && ready.step_types[row] == static_cast<int32_t>(StepType::kMid);
    is_cut_[lane] = is_cut ? 1 : 0;
    step_types[row] = is_cut ? static_cast<int32_t>(StepType::kLast) : ready.step_types[row];
  }
  ready.step_types = step_types;
  return ready;
}

}  // namespace waggle
