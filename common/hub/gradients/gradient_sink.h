#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/metrics/metrics.h"
#include "common/hub/ports/gradients.h"

namespace waggle {

struct GradientSinkOptions {
  GradientModel model;
  std::string worker_id;
  uint64_t life = 0;
  int64_t max_unacknowledged = 4;  // At most kMaxGradientsAhead.
};

// A sink over a taker: a gradient link or, in process, a runner. Counts gradients_pushed, gradients_applied,
// gradients_refused and gradients_refused_REASON in `metrics`, unless that is null. Both must outlive it.
std::unique_ptr<GradientSink> NewGradientSink(const GradientSinkOptions& options, GradientTaker* taker,
                                              Metrics* metrics);

}  // namespace waggle
