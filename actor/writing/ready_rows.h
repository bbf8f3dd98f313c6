#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/vector_environment.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The rows that a vector environment's next Recv gives. Two sets of observations alternate, so that a row can be
// recorded together with its action's result. Not thread-safe.
class ReadyRows {
 public:
  ReadyRows(const EnvironmentSpec& spec, int64_t lanes);

  // Drops gathered rows that were not shown.
  void Clear() { rows_ = 0; }
  int64_t rows() const { return static_cast<int64_t>(rows_); }

  // The arrays of the next row's observations, which is row rows() of each.
  absl::Span<void* const> observations() { return frames_[1 - current_].observations.pointers(); }
  // The arrays of rewards, in the same way.
  absl::Span<float* const> rewards() const { return reward_pointers_; }
  // The next row's elements of a reward leaf.
  float* Rewards(size_t leaf) { return rewards_[leaf].data() + rows_ * reward_elements_[leaf]; }
  size_t RewardElements(size_t leaf) const { return reward_elements_[leaf]; }
  // Sets the next row's rewards to zeros.
  void ZeroRewards();

  // Completes the next row.
  void Add(int64_t lane, StepType step_type, float discount);
  // True if the lane's newest row is an episode's last.
  bool AtEnd(int64_t lane) const { return at_end_[static_cast<size_t>(lane)] != 0; }

  // The gathered rows. They stay valid as VectorEnvironment::Recv documents.
  ReadyLanes Show();

 private:
  struct Frame {
    std::vector<int64_t> lanes;
    LeafArrays observations;
    std::vector<int32_t> step_types;
    std::vector<uint8_t> first;
  };
  static Frame NewFrame(const EnvironmentSpec& spec, int64_t lanes);

  std::array<Frame, 2> frames_;
  size_t current_ = 0;
  size_t rows_ = 0;
  std::vector<std::vector<float>> rewards_;  // By leaf, [rows, …].
  std::vector<float*> reward_pointers_;
  std::vector<size_t> reward_elements_;
  std::vector<float> discounts_;
  std::vector<uint8_t> at_end_;  // By lane.
};

}  // namespace waggle
