#include "actor/acting/random_policy.h"

#include <cstring>
#include <utility>

namespace waggle {

RandomPolicy::RandomPolicy(EnvironmentSpec spec, int64_t lanes, Rng rng)
    : spec_(std::move(spec)), actions_(spec_, lanes, std::move(rng)) {}

absl::Status RandomPolicy::Act(const PolicyInput& input, ActMode /*mode*/, PolicyOutput* output) {
  const absl::Span<const void* const> drawn = actions_.Draw(input.rows(), input.observations);
  for (size_t i = 0; i < drawn.size(); ++i) {
    std::memcpy(output->actions[i], drawn[i], static_cast<size_t>(input.rows() * spec_.actions[i].array.NumBytes()));
  }
  return absl::OkStatus();
}

absl::Status RandomPolicy::LoadWeights(const ModelSnapshot& /*snapshot*/) {
  return absl::FailedPreconditionError("random actions use no weights");
}

}  // namespace waggle
