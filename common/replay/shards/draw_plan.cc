#include "common/replay/shards/draw_plan.h"

#include <algorithm>
#include <utility>

#include "common/replay/shards/shard_shares.h"

namespace waggle {
namespace {

// True if the draws of a batch are independent of each other.
bool DrawsIndependently(const SamplerConfig& sampler) {
  return sampler.kind == SelectorKind::kUniform || sampler.kind == SelectorKind::kPrioritized
             ? sampler.independent_draws || (sampler.kind == SelectorKind::kUniform && sampler.recent_share == 0)
             : false;
}

}  // namespace

std::optional<DrawPlan> PlanBatch(const std::vector<ShardStanding>& shards, const TableConfig& table, int64_t items,
                                  uint64_t number, Rng* rng) {
  const bool keeps_ratio = table.rate_limiter.samples_per_insert > 0;
  DrawPlan plan;
  plan.weights = DrawWeights(shards, table);
  std::vector<int64_t> caps(shards.size());
  std::vector<int64_t> allowed(shards.size());
  std::vector<bool> takes_part(shards.size());
  int64_t all_allowed = 0;
  int64_t all_caps = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    takes_part[i] = shards[i].Drawable();
    if (takes_part[i]) {
      allowed[i] = shards[i].Allowed();
      caps[i] = plan.weights[i] > 0 ? shards[i].Cap() : 0;
    }
    all_allowed = std::min(kNoCap, all_allowed + allowed[i]);
    all_caps = std::min(kNoCap, all_caps + caps[i]);
  }
  if (all_caps < items || (keeps_ratio && all_allowed < items)) {
    return std::nullopt;
  }
  plan.items = SplitDraws(plan.weights, caps, items, DrawsIndependently(table.sampler), rng);
  // If draws use items up, the limiter counts the items.
  plan.counted = table.max_times_sampled > 0 ? plan.items
                 : keeps_ratio               ? SplitCounts(allowed, items)
                                             : SplitEqually(takes_part, items, number);
  return plan;
}

std::optional<DrawPlan> PlanReplacement(const std::vector<ShardStanding>& shards, const TableConfig& table,
                                        const std::vector<double>& weights, size_t lost,
                                        const ShardStanding::Asked& owed, Rng* rng) {
  DrawPlan plan;
  plan.weights.resize(shards.size());
  std::vector<int64_t> caps(shards.size());
  std::vector<int64_t> allowed(shards.size());
  int64_t room = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (i == lost || !shards[i].Drawable()) {
      continue;
    }
    allowed[i] = shards[i].Allowed();
    if (weights[i] > 0) {
      plan.weights[i] = weights[i];
      caps[i] = shards[i].Cap();
      room = std::min(kNoCap, room + caps[i]);
    }
  }
  if (room < owed.items) {
    return std::nullopt;
  }
  plan.items = SplitDraws(plan.weights, caps, owed.items, DrawsIndependently(table.sampler), rng);
  // Only as many as the shards allow, so that no draw waits.
  plan.counted = table.max_times_sampled > 0 ? plan.items : SplitCounts(allowed, owed.counted);
  return plan;
}

}  // namespace waggle
