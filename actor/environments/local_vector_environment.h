#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/environment.h"
#include "actor/environments/environment_lanes.h"
#include "actor/environments/vector_environment.h"
#include "actor/writing/ready_rows.h"

namespace waggle {

// Environments in this process. Send steps them, one after the other. Recv never waits: the lanes that were sent are
// ready, in that order. One thread.
class LocalVectorEnvironment : public VectorEnvironment {
 public:
  // At least one environment, all of one spec, as MakeEnvironments returns. Errors call lane 0 `first_lane`.
  explicit LocalVectorEnvironment(std::vector<std::unique_ptr<Environment>> environments, int64_t first_lane = 0);

  const EnvironmentSpec& spec() const override { return environments_.spec(); }
  int64_t lanes() const override { return static_cast<int64_t>(environments_.size()); }
  absl::Status Start(absl::Span<const int64_t> lanes) override;
  absl::Status Reset() override;
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;
  absl::StatusOr<Picture> Draw(int64_t lane) const override { return environments_.Draw(static_cast<size_t>(lane)); }

 private:
  // These write the next row.
  absl::Status StepLane(int64_t lane, absl::Span<const void* const> actions, size_t action_row);
  absl::Status StartEpisode(int64_t lane);

  EnvironmentLanes environments_;
  ReadyRows rows_;
};

}  // namespace waggle
