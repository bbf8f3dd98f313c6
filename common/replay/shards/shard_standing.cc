#include "common/replay/shards/shard_standing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/replay/shards/shard_shares.h"

namespace waggle {
namespace {

constexpr double kLastResort = 1e-9;

}  // namespace

bool ShardStanding::Drawable() const {
  return Usable() && known && facts.items > 0 && facts.items >= table.rate_limiter.min_items;
}

int64_t ShardStanding::Allowed() const {
  // Clamps a server's number; NaN counts as 0.
  const double allowed =
      facts.samples_allowed > 0 ? std::min(std::floor(facts.samples_allowed), static_cast<double>(kNoCap)) : 0;
  return std::max<int64_t>(0, static_cast<int64_t>(allowed) - owed_counted);
}

int64_t ShardStanding::Cap() const {
  const int64_t cap = table.max_times_sampled > 0 ? Allowed() : kNoCap;
  return table.sampler.without_replacement ? std::min(cap, facts.items) : cap;
}

bool ShardStanding::TakesNoMore() const {
  const RateLimiterConfig& limiter = table.rate_limiter;
  return facts.items >= table.max_items ||
         (limiter.samples_per_insert > 0 &&
          facts.samples_allowed + limiter.samples_per_insert > limiter.MaxDifference() - limiter.MinDifference());
}

absl::Time ShardStanding::LateAt(absl::Duration patience) const {
  return asked.empty() ? absl::InfiniteFuture() : std::max(asked.front().at, heard) + patience;
}

std::vector<double> DrawWeights(const std::vector<ShardStanding>& shards, const TableConfig& table) {
  double items = 0;
  double sum = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].Drawable()) {
      items += static_cast<double>(shards[i].facts.items);
      sum += shards[i].facts.priority_sum;
    }
  }
  const SamplerConfig& sampler = table.sampler;
  const double uniform = !(sum > 0) ? 1 : sampler.kind == SelectorKind::kPrioritized ? sampler.uniform_share : 0;
  // If shards can run out of items, those without weight serve as a last resort.
  const bool can_run_out = sampler.without_replacement || table.max_times_sampled > 0;
  std::vector<double> weights(shards.size());
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].Drawable()) {
      const double by_items = static_cast<double>(shards[i].facts.items) / items;
      const double by_sum = sum > 0 ? shards[i].facts.priority_sum / sum : 0;
      weights[i] = uniform * by_items + (1 - uniform) * by_sum + (can_run_out ? kLastResort * by_items : 0);
    }
  }
  return weights;
}

}  // namespace waggle
