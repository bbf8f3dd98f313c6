#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "actor/environments/leaf_arrays.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/environments/vector_environment.h"
#include "common/base/random.h"

namespace waggle::testing {

// Environments that answer in another order than they were sent, on a clock of their own: a step in a lane takes 1 to
// `spread` ticks, at random, and ten times as many in the slow lane. Rows are overwritten as soon as that is allowed.
// Its lanes' rows are those of a LocalVectorEnvironment of the same environments.
class ScrambledEnvironment : public VectorEnvironment {
 public:
  // `slow_lane`: -1 if no lane is slow.
  ScrambledEnvironment(std::vector<std::unique_ptr<Environment>> environments, int64_t slow_lane, uint64_t spread,
                       uint64_t seed);

  const EnvironmentSpec& spec() const override { return lanes_[0]->spec(); }
  int64_t lanes() const override { return static_cast<int64_t>(lanes_.size()); }
  absl::Status Start(absl::Span<const int64_t> lanes) override;
  absl::Status Reset() override;
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

  // Makes Recv wait for a stop from now on.
  void Hang() { hangs_ = true; }
  // Calls of Recv that gave all lanes, and that gave some of them.
  int64_t whole_batches() const { return whole_batches_; }
  int64_t partial_batches() const { return partial_batches_; }

 private:
  struct Batch {
    std::vector<int64_t> lanes;
    LeafArrays observations;
    std::vector<int32_t> step_types;
    std::vector<uint8_t> first;
  };

  Batch NewBatch() const;
  // Puts the lane under way, ready some ticks from now.
  void SetUnderWay(int64_t lane);
  // Adds the lane's row to the batch.
  absl::Status Receive(int64_t lane, Batch* batch);

  std::vector<std::unique_ptr<LocalVectorEnvironment>> lanes_;  // Each of one lane.
  const int64_t slow_lane_;
  const uint64_t spread_;
  Rng rng_;
  uint64_t now_ = 0;
  std::vector<uint64_t> due_;  // By lane; 0 if it is not under way.
  std::array<Batch, 2> batches_;
  size_t current_ = 0;
  LeafArrays rewards_;
  std::vector<const float*> reward_pointers_;
  std::vector<float> discounts_;
  bool hangs_ = false;
  int64_t whole_batches_ = 0;
  int64_t partial_batches_ = 0;
};

}  // namespace waggle::testing
