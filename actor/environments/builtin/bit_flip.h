#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of BitFlip-v0.
struct BitFlipSettings {
  int64_t bits = 8;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Action i flips bit i, until all bits equal a goal: BitFlip-v0, the bit-flipping environment of hindsight experience
// replay (arXiv 1707.01495, section 3.1). A step's reward is 0 if it reaches the goal, which is terminal, else -1.
// Episodes are truncated after as many steps as there are bits. The bits are shown twice, as the observation and as the
// achieved goal, and the goal as the desired one.
class BitFlip : public EpisodicEnvironment {
 public:
  using Settings = BitFlipSettings;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  BitFlip(const Settings& settings, uint64_t seed);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // The bits and the goal are uniform over all pairs that differ.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  void Show(absl::Span<void* const> observations) const;

  const int64_t num_bits_;
  Rng rng_;
  uint64_t bits_ = 0;  // Bit i is 1 << i.
  uint64_t goal_ = 0;
};

}  // namespace waggle
