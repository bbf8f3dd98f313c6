#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "actor/leaf_arrays.h"
#include "actor/trajectory_writer.h"
#include "actor/vector_environment.h"
#include "common/rl/policy.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// Each lane's row, from when its action is chosen until it is known what that led to. Where all lanes step together
// nothing is copied. One thread.
class PendingRows {
 public:
  // Rows that are complete.
  struct Complete {
    absl::Span<const int64_t> lanes;
    LaneRows rows;
  };

  PendingRows(const EnvironmentSpec& environment, const Policy& policy, int64_t lanes);

  // Keeps what the lanes showed, and what a policy decided there. If they are all lanes, in their order, the arrays are
  // borrowed until the next Take, else they are copied.
  void Keep(const ReadyLanes& shown, const PolicyOutput& decided);

  // The rows that were kept of these lanes, with what their actions led to; a lane of which nothing was kept yet, as it
  // shows its very first row, is left out. Valid until the next call of either, and as long as what it was given.
  Complete Take(const ReadyLanes& led_to);

  // Rows that only show what these lanes show now: nothing is decided there yet, and what else belongs to a row is
  // zero. What is kept stays as it is. Valid until the next call, and as long as what it was given.
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
  std::vector<uint8_t> kept_;      // By lane: whether anything was ever kept.
  size_t lanes_kept_ = 0;          // Of them.
  std::vector<int64_t> with_rows_;
  const std::vector<int64_t> all_lanes_;
};

}  // namespace waggle
