#pragma once

#include <cstdint>
#include <map>

#include "tests/common/replay/shards/simulated_shards.h"
#include "tests/support/chi_square.h"

// Compares draws from shards with those of one table.

namespace waggle::testing {

inline TableConfig Prioritized(bool independent = false) {
  TableConfig config = SmallTable();
  config.max_items = 10'000;
  config.sampler.independent_draws = independent;
  return config;
}

// Draws batches. Compares how often each item came, and its probability, with its share of the sum.
inline void CheckDistribution(SimulatedShards* shards, const std::map<int64_t, double>& weights, int batches,
                              double sum_of_all) {
  double sum = 0;
  for (const auto& [id, weight] : weights) {
    sum += weight;
  }
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < batches; ++i) {
    const SimulatedShards::Batch batch = shards->Take();
    for (const SimulatedShards::Item& item : batch.items) {
      const auto weight = weights.find(item.id);
      REQUIRE(weight != weights.end());
      REQUIRE(item.probability == Approx(weight->second / sum));
      REQUIRE(batch.facts.min_probability <= item.probability * 1.000001);
      ++counts[item.id];
    }
    REQUIRE(batch.facts.priority_sum == Approx(sum_of_all));
  }
  CheckChiSquare(counts, weights);
}

}  // namespace waggle::testing
