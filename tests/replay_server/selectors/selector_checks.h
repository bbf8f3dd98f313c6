#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "replay_server/selectors/selector.h"

namespace waggle::testing {

// How often each slot is drawn in `batches` batches.
inline std::map<uint32_t, int64_t> CountDraws(Selector* selector, Rng* rng, int batches, size_t batch_size) {
  std::map<uint32_t, int64_t> counts;
  std::vector<Draw> draws(batch_size);
  for (int i = 0; i < batches; ++i) {
    selector->SampleBatch(rng, absl::MakeSpan(draws));
    for (const Draw& draw : draws) {
      ++counts[draw.slot];
    }
  }
  return counts;
}

// Pearson's statistic of counts against the probabilities with which each slot should be drawn. A slot that should not
// be drawn at all, but was, makes it infinite.
inline double ChiSquare(const std::map<uint32_t, int64_t>& counts, const std::map<uint32_t, double>& probabilities) {
  int64_t total = 0;
  for (const auto& [slot, count] : counts) {
    total += count;
    const auto expected = probabilities.find(slot);
    if (expected == probabilities.end() || expected->second == 0) {
      return 1e300;
    }
  }
  double statistic = 0;
  for (const auto& [slot, probability] : probabilities) {
    if (probability > 0) {
      const double expected = probability * static_cast<double>(total);
      const auto found = counts.find(slot);
      const double difference = (found == counts.end() ? 0.0 : static_cast<double>(found->second)) - expected;
      statistic += difference * difference / expected;
    }
  }
  return statistic;
}

}  // namespace waggle::testing
