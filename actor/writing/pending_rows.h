#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/vector_environment.h"
#include "actor/writing/trajectory_writer.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// Each lane's row, from the choice of its action until the action's result is known. Nothing is copied if all lanes
// step together. One thread.
class PendingRows {
 public:
  // Rows that are complete.
  struct Complete {
    absl::Span<const int64_t> lanes;
    LaneRows rows;
  };

  PendingRows(const EnvironmentSpec& environment, const Policy& policy, int64_t lanes);

  // Keeps the lanes' observations and the policy's decisions. The arrays are borrowed until the next Take if they have
  // all lanes in order, else copied.
  void Keep(const ReadyLanes& shown, const PolicyOutput& decided);

  // The kept rows of these lanes, with the results of their actions. A lane is left out if it has no kept row yet,
  // because it has just shown its first observation. Valid until the next Keep or Take, and as long as `led_to`.
  Complete Take(const ReadyLanes& led_to);

  // Rows with these lanes' present observations; all that is not decided yet is zero. Kept rows do not change. Valid
  // until the next call, and as long as `shown`.
  Complete Show(const ReadyLanes& shown);

 private:
  // Arrays [lanes, …], row i of lane i.
  struct ByLane {
    LeafArrays observations;
    LeafArrays actions;
    LeafArrays columns;
    std::vector<float> private_values;
    std::vector<int32_t> step_types;
    LeafArrays rewards;
    std::vector<const float*> reward_pointers;
    std::vector<float> discounts;
  };

  std::unique_ptr<ByLane> NewRows() const;
  static LaneRows RowsOf(const ByLane& by_lane);
  bool IsAllInOrder(absl::Span<const int64_t> lanes) const;
  void Copy(absl::Span<const int64_t> lanes, const LaneRows& rows);
  absl::Span<const int64_t> LanesWithRows(absl::Span<const int64_t> lanes);

  const EnvironmentSpec environment_;
  const std::vector<ArraySpec> columns_;
  const size_t private_columns_;
  const size_t lanes_;
  bool borrowed_ = false;
  LaneRows borrowed_rows_;         // All lanes', without outcomes.
  std::unique_ptr<ByLane> own_;    // Null until lanes do not step together.
  std::unique_ptr<ByLane> shown_;  // Null until there is something to show.
  std::vector<uint8_t> kept_;      // By lane: true once a row was kept.
  size_t lanes_kept_ = 0;          // How many of them are true.
  std::vector<int64_t> with_rows_;
  const std::vector<int64_t> all_lanes_;
};

}  // namespace waggle
