#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actor/environments/environment.h"
#include "common/base/random.h"

namespace waggle::testing {

// The kinds of environment that algorithms are put through.
enum class TinyKind {
  kDiscrete,       // Vectors, and one of three choices.
  kReal,           // Vectors, and two numbers, each within bounds of its own.
  kImage,          // A dict of a uint8 image and a vector, and one of three choices.
  kMasked,         // Vectors and a mask, and one of three choices, of which one is illegal at a time.
  kMultiDiscrete,  // Vectors, and a choice of three beside one of two.
  kDict,    // Leaves of all kinds but the image, nested, two of which together say the goal; one of three choices.
  kReals,   // Vectors, and two real actions: a number without dimensions and a matrix of one.
  kMixed,   // Vectors and a mask, and three actions: one of three choices, of which one is illegal at a time, a
            // yes or no, and a number.
  kMemory,  // As kDiscrete, but an action's goal is that of the observation before: for networks with a core.
  kAgents,  // Two agents, each with a vector and one of three choices.
};

// All of them, in their order.
const std::vector<TinyKind>& TinyKinds();
// Its spec's name: "TinyReal".
std::string Name(TinyKind kind);

// The identity task: an observation says which action is right (its goal), beside a number that means nothing. The
// reward is the mean over all elements of the actions: of a choice 1 where it is right, of a real number minus the
// squared distance, on the scale of [-1, 1], from its goal, which is in [-0.8, 0.8]. Goals are drawn anew for each
// observation. An episode has one step (of kMemory two, of which the first earns nothing) and terminates; where it may
// be `long`, it has 1 to 6 and is as often truncated. An action outside the space, a choice that the mask does not have
// and NaN are INVALID_ARGUMENT.
class TinyEnvironment : public Environment {
 public:
  TinyEnvironment(TinyKind kind, bool is_long, uint64_t seed);

  static EnvironmentDefinition Definition(TinyKind kind, bool is_long);

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

  // What a policy that chooses uniformly, and the best one, earn in an episode that is not long.
  static double RandomReward(TinyKind kind);
  static double BestReward(TinyKind kind);

 private:
  void DrawNext();
  void Write(absl::Span<void* const> observations);
  void WriteLeafOfDict(const SpaceLeaf& leaf, void* values);
  void WriteVector(size_t agent, int64_t size, float* numbers);
  absl::Status CheckActions(absl::Span<const void* const> actions) const;
  // Over the leaf's elements. `goal` and `place` are its first ones', and go on to the next leaf's.
  double SumOf(const SpaceLeaf& leaf, const void* action, size_t* goal, size_t* place) const;

  const TinyKind kind_;
  const bool is_long_;
  EnvironmentSpec spec_;
  Rng rng_;
  std::vector<int64_t> goals_;         // Of every element that is a choice, leaf by leaf.
  std::vector<double> places_;         // Of every one that is real.
  int64_t illegal_ = 0;                // Of the first action, where there is a mask.
  std::vector<int64_t> goals_before_;  // Of the observation before this one.
  int64_t step_ = 0;
  int64_t length_ = 0;
  bool terminates_ = true;
};

}  // namespace waggle::testing
