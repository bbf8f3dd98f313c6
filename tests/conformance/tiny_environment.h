#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actor/environments/environment.h"
#include "common/base/random.h"

namespace waggle::testing {

// The kinds of environment in which algorithms are tested.
enum class TinyKind {
  kDiscrete,       // Vectors, and one of three choices.
  kReal,           // Vectors, and two numbers, each within its own bounds.
  kImage,          // A dict of a uint8 image and a vector, and one of three choices.
  kMasked,         // Vectors and a mask, and one of three choices, one of them illegal at a time.
  kMultiDiscrete,  // Vectors, and a choice of three beside one of two.
  kDict,           // Leaves of all kinds except the image, nested; two of them show the goal. One of three choices.
  kReals,          // Vectors, and two real actions: a scalar and a matrix with one element.
  // Vectors and a mask, and three actions: one of three choices, one of them illegal at a time, a boolean, and a
  // number.
  kMixed,
  kHybrid,      // Vectors and a mask, one of three choices, one of them illegal at a time, and a number.
  kMemory,      // As kDiscrete, but an action's goal is the last observation's: for networks with a core.
  kAgents,      // Two agents, each with a vector and one of three choices.
  kRealAgents,  // Two agents, one with two numbers and one with one.
  // Two agents, one with a mask and one of three choices, one of them illegal at a time, and one with two numbers; and
  // an observation that belongs to neither.
  kUnlikeAgents,
  kRewards,  // Vectors, and two numbers, each of which earns a dimension of the reward.
  // An episode's goal, the goal that the last action achieved, and a skill, and one of three choices; for modules.
  kGoal,
  kRealGoal,  // The same, and two numbers as in kReal.
};

// All of them, in their order.
const std::vector<TinyKind>& TinyKinds();
// The name in its spec: "TinyReal".
std::string Name(TinyKind kind);
// True for kGoal and kRealGoal.
bool HasGoal(TinyKind kind);

// The identity task: an observation shows the right action (its goal), beside a meaningless number. The reward is the
// mean over all elements of the actions: for a choice 1 if it is right, for a real number minus the squared distance
// from its goal, which is in [-0.8, 0.8], on the scale of [-1, 1]. Each of several agents has a reward of its own, and
// the dimensions of a vector add up to it. Each observation has new goals. An episode has one
// step (for kMemory two, the first of which earns nothing) and terminates. If it may be `long` it has 1 to 6 steps, and
// is as often truncated. With kGoal and kRealGoal the goal is an episode's, an action achieves itself, on the scale of
// [-1, 1] if it is real, and the reward is 0 within 0.05 of the goal, else -1. INVALID_ARGUMENT for an action outside
// the space, a choice that the mask forbids, and NaN.
class TinyEnvironment : public Environment {
 public:
  TinyEnvironment(TinyKind kind, bool is_long, uint64_t seed);

  static EnvironmentDefinition Definition(TinyKind kind, bool is_long);

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

  // The mean rewards of a uniformly choosing policy and of the best one, in an episode that is not long.
  static double RandomReward(TinyKind kind);
  static double BestReward(TinyKind kind);

 private:
  void DrawNext();
  void Write(absl::Span<void* const> observations);
  void WriteLeafOfDict(const SpaceLeaf& leaf, void* values);
  void WriteVector(const SpaceLeaf& leaf, float* numbers);
  bool HasAgents() const { return spec_.rewards.size() > 1; }
  bool IsMasked(const SpaceLeaf& action) const;
  absl::Status CheckActions(absl::Span<const void* const> actions) const;
  // The sum over the leaf's elements. `goal` and `place` index its first ones, and advance to the next leaf's.
  double SumOf(const SpaceLeaf& leaf, const void* action, size_t* goal, size_t* place) const;
  // Sets achieved_. The reward for it.
  float Achieve(const void* action);
  void DrawGoal();
  void WriteGoal(absl::Span<void* const> observations) const;

  const TinyKind kind_;
  const bool is_long_;
  EnvironmentSpec spec_;
  Rng rng_;
  std::vector<int64_t> goals_;         // For every element that is a choice, leaf by leaf.
  std::vector<double> places_;         // For every real element.
  int64_t illegal_ = 0;                // In the action that has a mask.
  std::vector<int64_t> goals_before_;  // The goals of the last observation.
  std::vector<float> goal_;            // kGoal, kRealGoal: the episode's.
  std::vector<float> achieved_;        // Likewise.
  int64_t skill_ = 0;                  // Likewise.
  int64_t step_ = 0;
  int64_t length_ = 0;
  bool terminates_ = true;
};

}  // namespace waggle::testing
