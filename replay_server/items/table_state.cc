#include "replay_server/items/table_state.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "common/config/table/table_name.h"
#include "replay_server/selectors/new_selector.h"

namespace waggle {
namespace {

// From the machine's entropy, so that two servers of one run differ. Below 2^62, so that counting on cannot overflow.
uint64_t RandomNumber() {
  std::random_device entropy;
  return (((static_cast<uint64_t>(entropy()) << 32) | entropy()) >> 2) + 1;
}

// Leaves out the rows and what only a draw has.
SampledItem FactsOfSample(const ItemSlots& items, uint32_t slot) {
  const ItemSlots::Facts facts = items.facts(slot);
  SampledItem item;
  item.key = slot;
  item.generation = facts.generation;
  item.policy_version = facts.policy_version;
  item.times_sampled = facts.times_sampled;
  item.priority = facts.priority;
  return item;
}

}  // namespace

TableState::Contents::Contents(const TableConfig& config) : sampler(NewSampler(config)), remover(NewRemover(config)) {}

TableState::TableState(const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryAccount> memory)
    : config_(config),
      has_future_(config.HasFuture()),
      incarnation_(RandomNumber()),
      rng_(Rng::Split(seed, PlainTableName(config.name), 0)),
      limiter_(config.rate_limiter),
      in_(config),
      bytes_(std::move(memory), config.memory_limit),
      next_generation_(RandomNumber()) {}

double TableState::Magnitude(double priority) const {
  return config_.sampler.absolute_priorities ? std::fabs(priority) : priority;
}

double TableState::HighestPriority() {
  if (items_ == 0) {
    return 1;
  }
  if (!priorities_.started()) {
    priorities_.Start(slots());
  }
  return priorities_.Largest([this](size_t number) {
    const auto slot = static_cast<uint32_t>(number);
    return number < slots() && in_.items.holds_item(slot) ? in_.items.priority(slot) : BlockMaxima::kNone;
  });
}

// The slot must hold an item. The caller must tell the selectors.
void TableState::SetPriority(uint32_t slot, double priority) {
  if (priorities_.started()) {
    priorities_.Change(slot, in_.items.priority(slot), priority);
  }
  in_.items.set_priority(slot, priority);
  NoteChange(slot);
}

void TableState::RemoveOne(RemovedRows* removed) {
  Draw draw;
  in_.remover->SampleBatch(&rng_, absl::MakeSpan(&draw, 1));
  RemoveSlot(draw.slot, removed);
}

void TableState::Insert(NewItem item, RemovedRows* removed) {
  // Computed first: the item of the highest priority may leave.
  const double priority = item.highest_priority ? HighestPriority() : Magnitude(item.priority);
  while (items_ >= config_.max_items) {
    RemoveOne(removed);
  }
  // The new item stays even if it alone is too large, so others leave before the selectors know it.
  const uint32_t slot = in_.items.Take();
  in_.items.Fill(slot, std::move(item.window),
                 {next_generation_++, priority, item.policy_version, /*times_sampled=*/0, item.pins});
  if (priorities_.started()) {
    priorities_.Change(slot, BlockMaxima::kNone, priority);
  }
  NoteChange(slot);
  bytes_.Pin(in_.items, slot);
  if (bytes_.AreShort(config_.max_bytes) && items_ > 0) {
    byte_shortage_ = ByteShortage{items_, bytes() <= config_.max_bytes};
  }
  while (bytes_.AreShort(config_.max_bytes) && items_ > 0) {
    RemoveOne(removed);
  }
  in_.sampler->Insert(slot, priority);
  in_.remover->Insert(slot, priority);
  ++items_;
  draws_left_ += config_.max_times_sampled;
  limiter_.CountInsert();
}

void TableState::RemoveSlot(uint32_t slot, RemovedRows* removed) {
  bytes_.Unpin(in_.items, slot);
  in_.sampler->Remove(slot);
  in_.remover->Remove(slot);
  if (priorities_.started()) {
    priorities_.Change(slot, in_.items.priority(slot), BlockMaxima::kNone);
  }
  if (config_.max_times_sampled > 0) {
    draws_left_ -= config_.max_times_sampled - in_.items.times_sampled(slot);
  }
  NoteChange(slot);
  removed->push_back(in_.items.Empty(slot));
  --items_;
  ++items_removed_;
}

int64_t TableState::ItemsOver(const TableConfig& config) const {
  int64_t over = std::max<int64_t>(0, items_ - config.max_items);
  if (bytes() > config.max_bytes && items_ > 0) {
    // Assumes equal sizes. Blocks leave whole, so more items may leave.
    const double item_bytes = static_cast<double>(bytes()) / static_cast<double>(items_);
    const auto fit = static_cast<int64_t>(static_cast<double>(config.max_bytes) / item_bytes);
    over = std::max(over, items_ - std::max<int64_t>(1, fit));  // One item stays.
  }
  if (config.max_times_sampled > 0 && config.max_times_sampled != config_.max_times_sampled) {
    int64_t used_up = 0;
    for (uint32_t slot = 0; slot < in_.items.size(); ++slot) {
      used_up += in_.items.generation(slot) != 0 && in_.items.times_sampled(slot) >= config.max_times_sampled ? 1 : 0;
    }
    over = std::max(over, used_up);
  }
  return over;
}

void TableState::Reconfigure(const TableConfig& config, RemovedRows* removed) {
  const bool selectors = !SameSelectors(config_, config);
  const bool times = config_.max_times_sampled != config.max_times_sampled;
  config_ = config;
  bytes_.SetMemoryLimit(config.memory_limit);
  limiter_.Reconfigure(config.rate_limiter, items_);
  byte_shortage_.reset();
  if (selectors) {
    RebuildSelectors();
  }
  if (times) {
    changes_.NoteAll(&in_.items);  // Their counts may not have mattered before.
    RemoveExhausted(removed);
  }
  while (items_ > config_.max_items || (bytes_.AreShort(config_.max_bytes) && items_ > 1)) {
    RemoveOne(removed);
  }
}

// Removes items that were sampled often enough, and counts the draws left of the others.
void TableState::RemoveExhausted(RemovedRows* removed) {
  draws_left_ = 0;
  if (config_.max_times_sampled == 0) {
    return;
  }
  for (uint32_t slot = 0; slot < slots(); ++slot) {
    if (in_.items.holds_item(slot)) {
      draws_left_ += config_.max_times_sampled - in_.items.times_sampled(slot);
      if (in_.items.times_sampled(slot) >= config_.max_times_sampled) {
        RemoveSlot(slot, removed);
      }
    }
  }
}

// Inserts in order of generations, which some selectors use.
void TableState::RebuildSelectors() {
  std::vector<std::pair<uint64_t, uint32_t>> order;
  order.reserve(static_cast<size_t>(items_));
  for (uint32_t slot = 0; slot < slots(); ++slot) {
    if (in_.items.holds_item(slot)) {
      order.emplace_back(in_.items.generation(slot), slot);
    }
  }
  std::sort(order.begin(), order.end());
  in_.sampler = NewSampler(config_);
  in_.remover = NewRemover(config_);
  for (const auto& [generation, slot] : order) {
    in_.sampler->Insert(slot, in_.items.priority(slot));
    in_.remover->Insert(slot, in_.items.priority(slot));
  }
}

// Counts the draw.
SampledItem TableState::Take(const Draw& draw) {
  in_.items.CountSampled(draw.slot);
  if (changes_.draws() || config_.max_times_sampled > 0) {
    NoteChange(draw.slot);
  }
  SampledItem item = FactsOfSample(in_.items, draw.slot);
  item.probability = draw.probability;
  if (has_future_) {
    DrawFuture(draw.slot, &item);
  } else {
    item.window = in_.items.window(draw.slot);
  }
  return item;
}

// Leaves out the chunks between the transition and the future row, so that they are not read from disk.
void TableState::DrawFuture(uint32_t slot, SampledItem* item) {
  const uint32_t rows = in_.items.rows(slot);
  const uint32_t context = in_.items.context(slot);
  const auto sampled = static_cast<uint32_t>(std::min<int64_t>(rows, config_.transition_rows));
  uint32_t row = context + rows - 1;
  if (config_.future_row == FutureRow::kLater) {
    row = context + 1 + static_cast<uint32_t>(rng_.UniformInt(rows - 1));
  } else if (config_.future_row == FutureRow::kEpisode) {
    row = static_cast<uint32_t>(rng_.UniformInt(context + rows));
  }
  item->future_offset = int64_t{row} - context;
  // Includes the rows that its stack needs.
  const uint32_t first = row - std::min(row, static_cast<uint32_t>(config_.StackReach()));
  uint32_t left_out = 0;
  item->window = in_.items.window_parts(slot, context + sampled, first, row + 1, &left_out);
  item->window.rows = sampled;
  item->future_row = row - left_out;
}

SampledItem TableState::ItemAt(uint32_t slot) const {
  SampledItem item = FactsOfSample(in_.items, slot);
  item.window = in_.items.window(slot);
  return item;
}

Sampled TableState::Sample(const DrawRequest& request, RemovedRows* removed) {
  Sampled sampled;
  sampled.table_items = items_;
  sampled.priority_sum = in_.sampler->Sum();
  sampled.min_probability = in_.sampler->MinProbability();
  limiter_.CountSamples(request.counted);
  sampled.samples_allowed = limiter_.SamplesAllowed();
  if (config_.max_times_sampled > 0) {
    sampled.samples_allowed = std::min(sampled.samples_allowed, static_cast<double>(draws_left_ - request.items));
  }
  sampled.table_incarnation = incarnation_;
  if (request.items == 0) {
    return sampled;
  }
  sampled.items.reserve(static_cast<size_t>(request.items));
  std::vector<Draw> draws(static_cast<size_t>(request.items));
  if (config_.sampler.without_replacement) {
    in_.sampler->SampleDistinct(&rng_, absl::MakeSpan(draws));
  } else if (config_.max_times_sampled == 0) {
    in_.sampler->SampleBatch(&rng_, absl::MakeSpan(draws));
  } else {
    DrawOneByOne(&draws, &sampled, removed);
    return sampled;
  }
  // Two passes ahead: a slot must be in the cache before it tells where its chunk is.
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < draws.size() + 2 * kAhead; ++i) {
    if (i < draws.size()) {
      in_.items.Prefetch(draws[i].slot);
    }
    if (i >= kAhead && i - kAhead < draws.size()) {
      in_.items.PrefetchRows(draws[i - kAhead].slot);
    }
    if (i >= 2 * kAhead) {
      sampled.items.push_back(Take(draws[i - 2 * kAhead]));
    }
  }
  if (config_.max_times_sampled > 0) {  // The drawn items are different.
    draws_left_ -= request.items;
    for (size_t i = 0; i < draws.size(); ++i) {
      if (static_cast<int64_t>(sampled.items[i].times_sampled) >= config_.max_times_sampled) {
        RemoveSlot(draws[i].slot, removed);
      }
    }
  }
  return sampled;
}

// If items may leave within a batch, each draw must see the removals before it.
void TableState::DrawOneByOne(std::vector<Draw>* draws, Sampled* sampled, RemovedRows* removed) {
  for (Draw& draw : *draws) {
    in_.sampler->SampleBatch(&rng_, absl::MakeSpan(&draw, 1));
    sampled->items.push_back(Take(draw));
    --draws_left_;
    if (static_cast<int64_t>(sampled->items.back().times_sampled) >= config_.max_times_sampled) {
      RemoveSlot(draw.slot, removed);
    }
  }
}

PriorityUpdateCounts TableState::UpdatePriorities(absl::Span<const uint64_t> keys,
                                                  absl::Span<const uint64_t> generations,
                                                  absl::Span<const double> priorities) {
  constexpr size_t kAhead = 16;
  PriorityUpdateCounts counts;
  std::vector<uint32_t> found;
  std::vector<double> applied;
  found.reserve(keys.size());
  applied.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size() && keys[i + kAhead] < slots()) {
      in_.items.Prefetch(static_cast<uint32_t>(keys[i + kAhead]));
    }
    if (in_.items.Find(keys[i], generations[i], &counts)) {
      found.push_back(static_cast<uint32_t>(keys[i]));
      applied.push_back(Magnitude(priorities[i]));
      SetPriority(found.back(), applied.back());
    }
  }
  in_.sampler->Update(found, applied);
  in_.remover->Update(found, applied);
  priority_updates_.applied += counts.applied;
  priority_updates_.stale += counts.stale;
  priority_updates_.unknown += counts.unknown;
  return counts;
}

PriorityUpdateCounts TableState::Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                                        RemovedRows* removed) {
  PriorityUpdateCounts counts;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (in_.items.Find(keys[i], generations[i], &counts)) {
      RemoveSlot(static_cast<uint32_t>(keys[i]), removed);
    }
  }
  return counts;
}

int64_t TableState::Clear(Contents* contents) {
  const int64_t cleared = items_;
  for (uint32_t slot = 0; slot < slots(); ++slot) {
    if (in_.items.holds_item(slot)) {
      bytes_.Unpin(in_.items, slot);
    }
  }
  std::swap(in_, *contents);
  if (priorities_.started()) {
    priorities_.Start(0);
  }
  items_ = 0;
  draws_left_ = 0;
  byte_shortage_.reset();
  items_removed_ += cleared;
  changes_.NoteCleared();
  return cleared;
}

}  // namespace waggle
