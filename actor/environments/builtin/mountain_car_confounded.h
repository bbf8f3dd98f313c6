#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/builtin/mountain_car.h"
#include "actor/environments/environment.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// MountainCar that also shows the previous action, 1 (not accelerated) at an episode's start: MountainCarConfounded-v0,
// a task on which imitation goes wrong (arXiv 1905.11979, section 3). An expert's action nearly always equals the
// previous one, so a cloner copies that instead of looking at the car. The leaves are observation/car and
// observation/previous_action.
class MountainCarConfounded : public Environment {
 public:
  using Settings = MountainCarSettings;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  MountainCarConfounded(const Settings& settings, uint64_t seed);

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;
  absl::StatusOr<Picture> Draw() const override { return car_.Draw(); }

 private:
  const EnvironmentSpec spec_;
  MountainCar car_;
};

}  // namespace waggle
