#include "actor/environments/builtin/mountain_car_confounded.h"

#include <cstring>

#include "common/base/status_macros.h"

namespace waggle {

EnvironmentSpec MountainCarConfounded::Spec(const Settings& settings) {
  EnvironmentSpec spec = MountainCar::Spec(settings);
  spec.name = "MountainCarConfounded-v0";
  spec.observations[0].array.name = "observation/car";
  spec.observations.push_back(Discrete("observation/previous_action", spec.actions[0].num_values[0]));
  return spec;
}

MountainCarConfounded::MountainCarConfounded(const Settings& settings, uint64_t seed)
    : spec_(Spec(settings)), car_(settings, seed) {}

absl::Status MountainCarConfounded::Reset(absl::Span<void* const> observations) {
  constexpr int64_t kNotAccelerated = 1;
  std::memcpy(observations[1], &kNotAccelerated, sizeof(kNotAccelerated));
  return car_.Reset(observations.first(1));
}

absl::StatusOr<StepOutcome> MountainCarConfounded::Step(absl::Span<const void* const> actions,
                                                        absl::Span<void* const> observations, float* rewards) {
  WAGGLE_ASSIGN_OR_RETURN(const StepOutcome outcome, car_.Step(actions, observations.first(1), rewards));
  std::memcpy(observations[1], actions[0], sizeof(int64_t));
  return outcome;
}

}  // namespace waggle
