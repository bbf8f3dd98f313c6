#include "actor/acting/scripted_policy.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace waggle {

ScriptedPolicy::ScriptedPolicy(EnvironmentSpec spec, EnvironmentScript script)
    : spec_(std::move(spec)), script_(std::move(script)) {}

absl::Status ScriptedPolicy::Act(const PolicyInput& input, ActMode /*mode*/, PolicyOutput* output) {
  std::vector<const void*> observations(spec_.observations.size());
  std::vector<void*> actions(spec_.actions.size());
  for (int64_t row = 0; row < input.rows(); ++row) {
    for (size_t i = 0; i < observations.size(); ++i) {
      observations[i] = static_cast<const char*>(input.observations[i]) + row * spec_.observations[i].array.NumBytes();
    }
    for (size_t i = 0; i < actions.size(); ++i) {
      actions[i] = static_cast<char*>(output->actions[i]) + row * spec_.actions[i].array.NumBytes();
    }
    script_(spec_, observations, actions);
  }
  return absl::OkStatus();
}

absl::Status ScriptedPolicy::LoadWeights(const ModelSnapshot& /*snapshot*/) {
  return absl::FailedPreconditionError("a script uses no weights");
}

}  // namespace waggle
