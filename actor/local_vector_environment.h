#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environment_lanes.h"
#include "actor/environments/environment.h"
#include "actor/leaf_arrays.h"
#include "actor/vector_environment.h"

namespace waggle {

// Environments in this process. Send steps them, one after the other, so whatever was sent is ready, in that order,
// when Recv is called, which never waits. One thread.
class LocalVectorEnvironment : public VectorEnvironment {
 public:
  // At least one, all of one spec: what MakeEnvironments returns.
  explicit LocalVectorEnvironment(std::vector<std::unique_ptr<Environment>> environments);

  const EnvironmentSpec& spec() const override { return environments_.spec(); }
  int64_t lanes() const override { return static_cast<int64_t>(environments_.size()); }
  absl::Status Reset() override;
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

 private:
  // What one Recv gives. Two of them take turns, so that a row can be recorded together with what its action led to.
  struct Frame {
    std::vector<int64_t> lanes;
    LeafArrays observations;
    std::vector<int32_t> step_types;
    std::vector<uint8_t> first;
  };

  Frame NewFrame() const;
  // Write the frame's next row.
  absl::Status StepLane(size_t lane, absl::Span<const void* const> actions, size_t action_row, Frame* frame);
  absl::Status StartEpisode(size_t lane, Frame* frame);
  void AddRow(size_t lane, StepType step_type, Frame* frame);

  EnvironmentLanes environments_;
  std::array<Frame, 2> frames_;
  size_t current_ = 0;
  size_t rows_ = 0;  // Of the next frame so far.
  // Its rows' too: by reward leaf, [rows, …], with their elements a row.
  std::vector<std::vector<float>> rewards_;
  std::vector<const float*> reward_pointers_;
  std::vector<size_t> reward_elements_;
  std::vector<float> discounts_;
  std::vector<uint8_t> at_end_;  // By lane: whether its last row is an episode's last.
};

}  // namespace waggle
