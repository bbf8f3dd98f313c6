#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/random.h"
#include "common/config/schedule.h"
#include "common/nn/torch.h"
#include "common/plan/exploration_options.h"
#include "common/rl/exploration_noise.h"
#include "common/rl/noise.h"
#include "common/spec/joint_action.h"

namespace waggle {

// Whose actions an explorer changes.
struct ExplorerLanes {
  int64_t lanes = 1;  // Here: slots 0 to lanes - 1.
  // They are [first_lane, first_lane + lanes) of the run's all_lanes.
  int64_t first_lane = 0;
  int64_t all_lanes = 1;
  int64_t first_step = 0;  // Steps that each has behind it already.
};

// What actors do beside what the policy says, as the options say: random choices, noise, a warm-up. Everything that
// moves goes by the run's progress, of which an actor knows the learner's part with its weights, and the environment
// steps from its own: it counts on from them as if all lanes went as fast as its own. One thread; may throw as LibTorch
// does.
class Explorer {
 public:
  Explorer(const ExplorationOptions& options, JointAction action, const ExplorerLanes& lanes, uint64_t seed);

  // Takes note of the rows that are to be acted in: `first` is 1 where an episode begins. Each other row shows what a
  // step led to. So the final row of an episode, whose action is not taken, is no step. Call once before each Explore.
  void Advance(absl::Span<const uint8_t> first);
  // Takes note of what the weights say of the run.
  void SetProgress(const Progress& progress) { progress_ = progress; }
  Progress progress() const;
  // Lanes come and go with their actors: the ladder of epsilons is over all that there are.
  void SetAllLanes(int64_t all_lanes);

  // What row `slot` chooses, given the values of its choices and the best legal one; `legal` is null where all are.
  int64_t Choose(int64_t slot, const float* values, int64_t choices, int64_t best, const bool* legal);

  // Actions [rows, …] of these slots, choices or in [-1, 1], that a distribution drew: noise is added where all
  // elements are real, and in a warm-up they are replaced. `first` is where an episode begins. `mask`: bool [rows,
  // choices of all elements], true where a choice is legal; undefined where all are. On the CPU, contiguous.
  torch::Tensor Explore(const torch::Tensor& actions, const torch::Tensor& slots, const torch::Tensor& first,
                        const torch::Tensor& mask = {});

 private:
  bool WarmingUp() const { return progress().env_steps < options_.warm_up_steps; }
  double Epsilon(int64_t slot);
  int64_t RandomChoice(int64_t choices, const bool* legal);
  // In the place of actions [rows, …], all elements of which are choices, legal ones.
  torch::Tensor RandomChoices(const torch::Tensor& actions, const torch::Tensor& mask);
  torch::Tensor RandomActions(const torch::Tensor& actions, const torch::Tensor& mask);

  const ExplorationOptions options_;
  const JointAction action_;
  const ExplorerLanes lanes_;
  int64_t ladder_lanes_;
  // A slot's epsilon and what it follows from: powers cost more than the rest of a choice.
  struct Rung {
    double base = -1;
    double epsilon = 0;
  };
  std::vector<Rung> ladder_;  // By slot.
  Rng rng_;
  Noise noise_;
  Progress progress_;
  int64_t steps_ = 0;  // That this explorer's own lanes have behind them.
  std::optional<OrnsteinUhlenbeck> drift_;
};

}  // namespace waggle
