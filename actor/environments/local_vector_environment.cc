#include "actor/environments/local_vector_environment.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace waggle {

LocalVectorEnvironment::LocalVectorEnvironment(std::vector<std::unique_ptr<Environment>> environments,
                                               int64_t first_lane)
    : environments_(std::move(environments), "lane", static_cast<size_t>(first_lane)),
      rows_(environments_.spec(), lanes()) {}

absl::Status LocalVectorEnvironment::Start(absl::Span<const int64_t> lanes) {
  for (const int64_t lane : lanes) {
    WAGGLE_RETURN_IF_ERROR(StartEpisode(lane));
  }
  return absl::OkStatus();
}

absl::Status LocalVectorEnvironment::Reset() {
  rows_.Clear();
  for (int64_t lane = 0; lane < lanes(); ++lane) {
    WAGGLE_RETURN_IF_ERROR(StartEpisode(lane));
  }
  return absl::OkStatus();
}

absl::Status LocalVectorEnvironment::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  WAGGLE_CHECK(rows_.rows() + static_cast<int64_t>(lanes.size()) <= this->lanes(),
               "actions are for lanes that are ready");
  for (size_t i = 0; i < lanes.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(rows_.AtEnd(lanes[i]) ? StartEpisode(lanes[i]) : StepLane(lanes[i], actions, i));
  }
  return absl::OkStatus();
}

absl::StatusOr<ReadyLanes> LocalVectorEnvironment::Recv(int64_t at_least, const StopToken&) {
  WAGGLE_CHECK(at_least <= rows_.rows(), "no more lanes can become ready than are under way");
  return rows_.Show();
}

absl::Status LocalVectorEnvironment::StepLane(int64_t lane, absl::Span<const void* const> actions, size_t action_row) {
  const absl::StatusOr<StepOutcome> outcome =
      environments_.Step(static_cast<size_t>(lane), actions, action_row, rows_.observations(), rows_.rewards(),
                         static_cast<size_t>(rows_.rows()));
  if (!outcome.ok()) {
    return outcome.status();
  }
  rows_.Add(lane, outcome->terminated || outcome->truncated ? StepType::kLast : StepType::kMid,
            outcome->terminated ? 0.0F : 1.0F);
  return absl::OkStatus();
}

absl::Status LocalVectorEnvironment::StartEpisode(int64_t lane) {
  WAGGLE_RETURN_IF_ERROR(
      environments_.Reset(static_cast<size_t>(lane), rows_.observations(), static_cast<size_t>(rows_.rows())));
  rows_.ZeroRewards();
  rows_.Add(lane, StepType::kFirst, 0);
  return absl::OkStatus();
}

}  // namespace waggle
