#pragma once

#include "absl/status/status.h"
#include "common/config/schedule.h"
#include "common/table_config/table_config.h"

namespace waggle {

// `algorithm.importance_exponent` of algorithms that learn from replayed items. If these are drawn by priority, a
// row's loss is multiplied by (items * probability) ^ -exponent over the largest of the batch, which undoes what
// priorities do to the expectation: not at all with an exponent of 0, fully with 1 (Schaul et al. 2015, arXiv
// 1511.05952). If all are drawn alike from one replay server, weights are 1, whatever the exponent.

// The default of most: nearly unbiased late, when it matters most.
inline Schedule AnnealedImportance() {
  return Schedule::Linear(0.4, 1, Schedule::Clock::kLearnerSteps, 100'000);
}

// INVALID_ARGUMENT if the sampler does not draw by priority and the exponent is not the algorithm's default: it
// would be ignored.
absl::Status CheckImportanceExponent(const Schedule& exponent, const Schedule& algorithms_default,
                                     const SamplerConfig& sampler);

}  // namespace waggle
