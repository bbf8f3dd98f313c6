#include "common/plan/importance_exponent.h"

#include "absl/strings/str_cat.h"

namespace waggle {

absl::Status CheckImportanceExponent(const Schedule& exponent, const Schedule& algorithms_default,
                                     const SamplerConfig& sampler) {
  if (sampler.kind == SelectorKind::kPrioritized || exponent == algorithms_default) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("algorithm.importance_exponent: means nothing to the sampler ",
                                                 Name(sampler.kind),
                                                 "; wanted none, or replay.sampler.kind: prioritized"));
}

}  // namespace waggle
