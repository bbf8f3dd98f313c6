#pragma once

#include <cstdint>

#include "actor/environments/environment.h"
#include "common/base/random.h"

namespace waggle::testing {

// An environment with several leaves of each sort, whose arrays identify their source. With the copy's seed s (0 to 99)
// and the step t of its episode:
//   observation/camera: uint8[2, 3]    pixel i is (6 t + i + s) % 256
//   observation/place: float32[2]      {s, t}
//   action_mask/move: bool[7]          all but choice t % 7
//   action/move: int64[2] of 3, 4      a masked choice is refused
//   action/turn: float32[1] in [-2, 6]
//   reward: float32[2]                 {10 t + move[0] + 100 move[1], turn}
// Episodes last 3 to 9 steps, at random, and terminate.
class ManyLeaves : public Environment {
 public:
  explicit ManyLeaves(uint64_t seed);

  static EnvironmentDefinition Definition();

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

 private:
  absl::Status CheckActions(const int64_t* move, float turn) const;
  void Write(absl::Span<void* const> observations) const;

  EnvironmentSpec spec_;
  Rng rng_;
  const int64_t seed_;
  int64_t step_ = 0;
  int64_t length_ = 0;
};

}  // namespace waggle::testing
