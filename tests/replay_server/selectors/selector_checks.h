#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "replay_server/selectors/selector.h"
#include "tests/support/chi_square.h"

namespace waggle::testing {

using DrawCounts = std::map<int64_t, int64_t>;
using Weights = std::map<int64_t, double>;

// How often each slot is drawn in `batches` batches.
inline DrawCounts CountDraws(Selector* selector, Rng* rng, int batches, size_t batch_size) {
  DrawCounts counts;
  std::vector<Draw> draws(batch_size);
  for (int i = 0; i < batches; ++i) {
    selector->SampleBatch(rng, absl::MakeSpan(draws));
    for (const Draw& draw : draws) {
      ++counts[draw.slot];
    }
  }
  return counts;
}

}  // namespace waggle::testing
