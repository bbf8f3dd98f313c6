#include "replay_server/selectors/new_selector.h"

#include <cmath>

#include "common/base/status_macros.h"
#include "replay_server/selectors/heap_selector.h"
#include "replay_server/selectors/order_selector.h"
#include "replay_server/selectors/prioritized_selector.h"
#include "replay_server/selectors/recent_selector.h"
#include "replay_server/selectors/uniform_selector.h"

namespace waggle {
namespace {

// Only prioritized selectors use a weight.
PriorityWeight SamplerWeight(const SamplerConfig& sampler) {
  return sampler.kind == SelectorKind::kPrioritized
             ? PriorityWeight{sampler.priority_exponent, sampler.priority_epsilon}
             : PriorityWeight{0, 0};
}

std::unique_ptr<Selector> NewSelector(SelectorKind kind, const PrioritizedSelectorOptions& prioritized) {
  switch (kind) {
    case SelectorKind::kPrioritized:
      return std::make_unique<PrioritizedSelector>(prioritized);
    case SelectorKind::kFifo:
      return std::make_unique<OrderSelector>(OrderSelector::First::kOldest);
    case SelectorKind::kLifo:
      return std::make_unique<OrderSelector>(OrderSelector::First::kNewest);
    case SelectorKind::kMinHeap:
      return std::make_unique<HeapSelector>(HeapSelector::First::kLowest);
    case SelectorKind::kMaxHeap:
      return std::make_unique<HeapSelector>(HeapSelector::First::kHighest);
    case SelectorKind::kUniform:
      break;
  }
  return std::make_unique<UniformSelector>();
}

}  // namespace

std::unique_ptr<Selector> NewSampler(const TableConfig& config) {
  const SamplerConfig& sampler = config.sampler;
  if (sampler.recent_share > 0) {
    RecentSelectorOptions options;
    options.weight = SamplerWeight(sampler);
    options.share = sampler.recent_share;
    options.items = sampler.recent_items;
    options.decay = sampler.recent_decay;
    options.period = sampler.recent_period;
    options.expected_items = config.max_items;
    return std::make_unique<RecentSelector>(options);
  }
  PrioritizedSelectorOptions options;
  options.weight = SamplerWeight(sampler);
  options.independent_draws = sampler.independent_draws;
  options.uniform_share = sampler.uniform_share;
  options.expected_items = config.max_items;
  return NewSelector(sampler.kind, options);
}

std::unique_ptr<Selector> NewRemover(const TableConfig& config) {
  PrioritizedSelectorOptions options;
  options.weight = {config.remover.priority_exponent, 0};
  options.expected_items = config.max_items;
  return NewSelector(config.remover.kind, options);
}

absl::Status ValidatePriority(const TableConfig& config, double priority) {
  const double magnitude = config.sampler.absolute_priorities ? std::fabs(priority) : priority;
  WAGGLE_RETURN_IF_ERROR(SamplerWeight(config.sampler).Validate(magnitude));
  if (config.remover.kind != SelectorKind::kPrioritized) {
    return absl::OkStatus();
  }
  return PriorityWeight{config.remover.priority_exponent, 0}.Validate(magnitude);
}

std::optional<double> DrawProbability(const TableConfig& config, double priority, int64_t items, double sum) {
  const SamplerConfig& sampler = config.sampler;
  if (items < 1 || sampler.recent_share > 0) {
    return std::nullopt;
  }
  const double uniform = 1.0 / static_cast<double>(items);
  if (sampler.kind == SelectorKind::kUniform || (sampler.kind == SelectorKind::kPrioritized && !(sum > 0))) {
    return uniform;
  }
  if (sampler.kind != SelectorKind::kPrioritized) {
    return std::nullopt;
  }
  return sampler.uniform_share * uniform + (1 - sampler.uniform_share) * SamplerWeight(sampler)(priority) / sum;
}

bool SameSelectors(const TableConfig& a, const TableConfig& b) {
  return a.sampler.priority_exponent == b.sampler.priority_exponent &&
         a.sampler.priority_epsilon == b.sampler.priority_epsilon &&
         a.sampler.uniform_share == b.sampler.uniform_share && a.sampler.recent_share == b.sampler.recent_share &&
         a.sampler.recent_items == b.sampler.recent_items && a.sampler.recent_decay == b.sampler.recent_decay &&
         a.sampler.recent_period == b.sampler.recent_period &&
         a.remover.priority_exponent == b.remover.priority_exponent;
}

}  // namespace waggle
