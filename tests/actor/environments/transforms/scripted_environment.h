#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actor/environments/environment.h"
#include "common/base/random.h"

namespace waggle::testing {

// An environment with random elements, so that every transform has a visible effect: pictures with channels first and
// last, numbers, choices, flags, a number without dimensions, and a mask that forbids a choice now and then. Its speed
// encodes the actions that it took. Episodes end at random, in one of 10 steps, and terminate or are truncated alike;
// rewards are whole numbers. Steps take no memory.
class ScriptedEnvironment : public Environment {
 public:
  explicit ScriptedEnvironment(uint64_t seed);

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

 private:
  void DrawNext(absl::Span<void* const> observations);

  const EnvironmentSpec spec_;
  Rng rng_;
  bool ended_ = true;
  float speed_[3] = {};
  uint8_t mask_[3] = {};
};

// Indices of its observations.
enum ScriptedLeaf { kCamera, kPlane, kSpeed, kGear, kFlags, kLevel, kMask, kNumScriptedLeaves };

// Copies that are equal for the same seed.
std::vector<std::unique_ptr<Environment>> ScriptedCopies(int64_t lanes, uint64_t seed);

}  // namespace waggle::testing
