#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/random.h"
#include "common/config/plan/exploration_options.h"
#include "common/config/schedule.h"
#include "common/config/spec/joint_action.h"
#include "common/nn/torch.h"
#include "common/rl/acting/exploration_noise.h"
#include "common/rl/kit/noise.h"

namespace waggle {

// The lanes of an explorer.
struct ExplorerLanes {
  int64_t lanes = 1;  // Own lanes, as slots 0 to lanes - 1.
  // Own lanes are [first_lane, first_lane + lanes) of the run's all_lanes.
  int64_t first_lane = 0;
  int64_t all_lanes = 1;
  int64_t first_step = 0;  // Steps that each lane has done before.
};

// Changes a policy's actions by the options: random choices, noise, a warm-up. Schedules follow the run's progress. The
// learner's part of it comes with weights; environment steps are estimated as if all lanes were as fast as the own
// ones. One thread; may throw as LibTorch does.
class Explorer {
 public:
  Explorer(const ExplorationOptions& options, JointAction action, const ExplorerLanes& lanes, uint64_t seed);

  // Counts the steps of the rows that are acted in next. A row with `first` begins an episode; any other shows a step's
  // result. An episode's final row, whose action is not taken, is no step. Must be called once before each Explore.
  void Advance(absl::Span<const uint8_t> first);
  // Sets the progress that came with the weights.
  void SetProgress(const Progress& progress) { progress_ = progress; }
  Progress progress() const;
  // Takes other numbers of the same type of exploration. Noise goes on.
  void SetOptions(const ExplorationOptions& options);
  // Lanes come and go with actors. The ladder is over all of them.
  void SetAllLanes(int64_t all_lanes);

  // The choice of row `slot`, from the values of its choices and the best legal one. `legal` is null if all are.
  int64_t Choose(int64_t slot, const float* values, int64_t choices, int64_t best, const bool* legal);

  // Changes drawn actions [rows, …] of these slots, choices or in [-1, 1]: adds noise if all elements are real, or
  // replaces them, in a warm-up all. `first` marks the start of an episode. `mask`: bool [rows, choices of all
  // elements], true for legal choices; undefined if all are. All on the CPU, contiguous.
  torch::Tensor Explore(const torch::Tensor& actions, const torch::Tensor& slots, const torch::Tensor& first,
                        const torch::Tensor& mask = {});

 private:
  bool WarmingUp() const { return progress().env_steps < options_.warm_up_steps; }
  // base ^ (1 + ladder_exponent * i / (N - 1)) for the slot's lane i of N.
  double OnLadder(int64_t slot, double base);
  // The noise of real actions [rows, elements].
  torch::Tensor NoiseFor(const torch::Tensor& actions, const torch::Tensor& slots, const torch::Tensor& first);
  int64_t RandomChoice(int64_t choices, const bool* legal);
  // Replaces actions [rows, …], whose elements are all choices, by legal ones.
  torch::Tensor RandomChoices(const torch::Tensor& actions, const torch::Tensor& mask);
  torch::Tensor RandomActions(const torch::Tensor& actions, const torch::Tensor& mask);

  ExplorationOptions options_;
  const JointAction action_;
  const ExplorerLanes lanes_;
  int64_t ladder_lanes_;
  // A slot's number and its base. Cached, because powers are the most expensive part of a choice.
  struct Rung {
    double base = -1;
    double number = 0;
  };
  std::vector<Rung> ladder_;  // By slot.
  Rng rng_;
  Noise noise_;
  Progress progress_;
  int64_t steps_ = 0;  // Steps of the own lanes.
  std::optional<OrnsteinUhlenbeck> drift_;
  std::optional<MovingAverage> average_;
};

}  // namespace waggle
