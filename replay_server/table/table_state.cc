#include "replay_server/table/table_state.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replay_server/table/fifo_selector.h"
#include "replay_server/table/prioritized_selector.h"
#include "replay_server/table/uniform_selector.h"

namespace waggle {
namespace {

constexpr uint32_t kPageSlots = 4096;

std::unique_ptr<Selector> NewSampler(const TableConfig& config) {
  switch (config.sampler.kind) {
    case SamplerConfig::Kind::kPrioritized:
      return std::make_unique<PrioritizedSelector>(config.sampler.priority_exponent, config.max_items);
    case SamplerConfig::Kind::kFifo:
      return std::make_unique<FifoSelector>();
    case SamplerConfig::Kind::kUniform:
      break;
  }
  return std::make_unique<UniformSelector>();
}

// From the machine's entropy, not from the run's seed: two servers of one run must not agree on it. Below 2^62, so that
// it stays positive as an int64 for longer than any server runs.
uint64_t RandomFirstGeneration() {
  std::random_device entropy;
  return (((static_cast<uint64_t>(entropy()) << 32) | entropy()) >> 2) + 1;
}

}  // namespace

struct alignas(64) TableState::Slot {
  Window window;
  uint64_t generation = 0;  // 0: it holds no item.
  double priority = 0;
  uint64_t policy_version = 0;
  uint32_t times_sampled = 0;
  uint16_t pins = 0;
};

TableState::TableState(const TableConfig& config, uint64_t seed)
    : config_(config),
      rng_(Rng::Split(seed, config.name, 0)),
      limiter_(config.rate_limiter),
      sampler_(NewSampler(config)),
      remover_(std::make_unique<FifoSelector>()),
      next_generation_(RandomFirstGeneration()) {
  static_assert(sizeof(Slot) == 64, "a slot should fit into a cache line");
}

TableState::~TableState() = default;

absl::Status TableState::ValidatePriority(const TableConfig& config, double priority) {
  const bool prioritized = config.sampler.kind == SamplerConfig::Kind::kPrioritized;
  return PrioritizedSelector::ValidatePriority(priority, prioritized ? config.sampler.priority_exponent : 0);
}

absl::Status TableState::CheckBatchSize(const TableConfig& config, int64_t batch_size) {
  if (batch_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a batch has at least 1 item; got ", batch_size));
  }
  if (config.max_times_sampled > 0 && batch_size > config.max_times_sampled * config.max_items) {
    return absl::FailedPreconditionError(absl::StrCat("max_items is ", config.max_items, " and max_times_sampled ",
                                                      config.max_times_sampled, ": a batch of ", batch_size,
                                                      " can never be drawn"));
  }
  return RateLimiter(config.rate_limiter).CheckBatchSize(batch_size);
}

bool TableState::CanInsert(int64_t waiting_batch) const {
  return limiter_.CanInsert(items_) || (config_.max_times_sampled > 0 && draws_left_ < waiting_batch);
}

bool TableState::CanSample(int64_t batch_size) const {
  return items_ > 0 && limiter_.CanSample(items_, batch_size) &&
         (config_.max_times_sampled == 0 || draws_left_ >= batch_size);
}

std::string TableState::WhyNoSample(int64_t batch_size) const {
  std::string why = limiter_.WhyNoSample(items_, batch_size);
  if (why.empty() && !CanSample(batch_size)) {
    why = absl::StrCat("samples wait for more items: those that there are may be drawn ", draws_left_,
                       " more times (max_times_sampled is ", config_.max_times_sampled, "), a batch is ", batch_size);
  }
  if (!why.empty() && bytes_were_short_ && items_ < config_.rate_limiter.min_items) {
    absl::StrAppend(&why, "; max_bytes, ", config_.max_bytes, ", removes items before there are as many");
  }
  return why;
}

inline TableState::Slot& TableState::SlotAt(uint32_t slot) {
  return pages_[slot / kPageSlots][slot % kPageSlots];
}

uint32_t TableState::TakeSlot() {
  if (!free_slots_.empty()) {
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  if (slots_ % kPageSlots == 0) {
    pages_.push_back(std::make_unique<Slot[]>(kPageSlots));
  }
  return slots_++;
}

void TableState::Pin(const Slot& slot) {
  for (const ChunkRef& chunk : slot.window.chunks) {
    if ((*chunk->pins(slot.pins))++ == 0) {
      bytes_ += static_cast<int64_t>(chunk->bytes());
    }
  }
}

void TableState::Unpin(const Slot& slot) {
  for (const ChunkRef& chunk : slot.window.chunks) {
    if (--(*chunk->pins(slot.pins)) == 0) {
      bytes_ -= static_cast<int64_t>(chunk->bytes());
    }
  }
}

void TableState::Insert(NewItem item, RemovedRows* removed) {
  while (items_ >= config_.max_items) {
    Draw oldest;
    remover_->SampleBatch(&rng_, absl::MakeSpan(&oldest, 1));
    RemoveSlot(oldest.slot, removed);
  }
  const uint32_t number = TakeSlot();
  Slot& slot = SlotAt(number);
  slot.window = std::move(item.window);
  slot.generation = next_generation_++;
  slot.priority = item.priority;
  slot.policy_version = item.policy_version;
  slot.times_sampled = 0;
  slot.pins = item.pins;
  Pin(slot);
  sampler_->Insert(number, item.priority);
  remover_->Insert(number, item.priority);
  ++items_;
  draws_left_ += config_.max_times_sampled;
  limiter_.CountInsert();
  // The item that came last stays even where it alone is too large.
  while (bytes_ > config_.max_bytes && items_ > 1) {
    bytes_were_short_ = true;
    Draw oldest;
    remover_->SampleBatch(&rng_, absl::MakeSpan(&oldest, 1));
    RemoveSlot(oldest.slot, removed);
  }
}

void TableState::RemoveSlot(uint32_t number, RemovedRows* removed) {
  Slot& slot = SlotAt(number);
  Unpin(slot);
  sampler_->Remove(number);
  remover_->Remove(number);
  removed->push_back(std::move(slot.window));
  slot.window.chunks.clear();
  slot.generation = 0;
  if (config_.max_times_sampled > 0) {
    draws_left_ -= config_.max_times_sampled - slot.times_sampled;
  }
  free_slots_.push_back(number);
  --items_;
  ++items_removed_;
}

// What a batch says of a drawn item. Counts the draw.
SampledItem TableState::Take(const Draw& draw) {
  Slot& slot = SlotAt(draw.slot);
  slot.times_sampled += slot.times_sampled < std::numeric_limits<uint32_t>::max() ? 1 : 0;
  SampledItem item;
  item.window = slot.window;
  item.key = draw.slot;
  item.generation = slot.generation;
  item.policy_version = slot.policy_version;
  item.times_sampled = slot.times_sampled;
  item.probability = draw.probability;
  item.priority = slot.priority;
  return item;
}

Sampled TableState::Sample(int64_t batch_size, RemovedRows* removed) {
  Sampled sampled;
  sampled.table_items = items_;
  sampled.priority_sum = sampler_->Sum();
  sampled.min_probability = sampler_->MinProbability();
  sampled.items.reserve(static_cast<size_t>(batch_size));
  std::vector<Draw> draws(static_cast<size_t>(batch_size));
  limiter_.CountSamples(batch_size);
  if (config_.max_times_sampled > 0) {
    DrawOneByOne(&draws, &sampled, removed);
    return sampled;
  }
  sampler_->SampleBatch(&rng_, absl::MakeSpan(draws));
  // Two passes ahead, because a slot has to be here before it says where its chunk is.
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < draws.size() + 2 * kAhead; ++i) {
    if (i < draws.size()) {
      __builtin_prefetch(&SlotAt(draws[i].slot), 1);
    }
    if (i >= kAhead && i - kAhead < draws.size()) {
      __builtin_prefetch(SlotAt(draws[i - kAhead].slot).window.chunks.front().get(), 1);
    }
    if (i >= 2 * kAhead) {
      sampled.items.push_back(Take(draws[i - 2 * kAhead]));
    }
  }
  return sampled;
}

// Where an item may leave in the middle of a batch, each draw sees what the one before has left.
void TableState::DrawOneByOne(std::vector<Draw>* draws, Sampled* sampled, RemovedRows* removed) {
  for (Draw& draw : *draws) {
    sampler_->SampleBatch(&rng_, absl::MakeSpan(&draw, 1));
    sampled->items.push_back(Take(draw));
    --draws_left_;
    if (static_cast<int64_t>(sampled->items.back().times_sampled) >= config_.max_times_sampled) {
      RemoveSlot(draw.slot, removed);
    }
  }
}

TableState::Match TableState::Find(uint64_t key, uint64_t generation) {
  if (key >= slots_) {
    return Match::kUnknown;
  }
  const uint64_t found = SlotAt(static_cast<uint32_t>(key)).generation;
  if (found == 0) {
    return Match::kUnknown;
  }
  return found == generation ? Match::kItem : Match::kStale;
}

PriorityUpdateCounts TableState::UpdatePriorities(absl::Span<const uint64_t> keys,
                                                  absl::Span<const uint64_t> generations,
                                                  absl::Span<const double> priorities) {
  constexpr size_t kAhead = 16;
  PriorityUpdateCounts counts;
  std::vector<uint32_t> slots;
  std::vector<double> applied;
  slots.reserve(keys.size());
  applied.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size() && keys[i + kAhead] < slots_) {
      __builtin_prefetch(&SlotAt(static_cast<uint32_t>(keys[i + kAhead])).generation, 1);
    }
    switch (Find(keys[i], generations[i])) {
      case Match::kItem:
        slots.push_back(static_cast<uint32_t>(keys[i]));
        applied.push_back(priorities[i]);
        SlotAt(slots.back()).priority = priorities[i];
        break;
      case Match::kStale:
        ++counts.stale;
        break;
      case Match::kUnknown:
        ++counts.unknown;
        break;
    }
  }
  sampler_->Update(slots, applied);
  counts.applied = slots.size();
  priority_updates_.applied += counts.applied;
  priority_updates_.stale += counts.stale;
  priority_updates_.unknown += counts.unknown;
  return counts;
}

PriorityUpdateCounts TableState::Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                                        RemovedRows* removed) {
  PriorityUpdateCounts counts;
  for (size_t i = 0; i < keys.size(); ++i) {
    switch (Find(keys[i], generations[i])) {
      case Match::kItem:
        RemoveSlot(static_cast<uint32_t>(keys[i]), removed);
        ++counts.applied;
        break;
      case Match::kStale:
        ++counts.stale;
        break;
      case Match::kUnknown:
        ++counts.unknown;
        break;
    }
  }
  return counts;
}

int64_t TableState::Clear(RemovedRows* removed) {
  const int64_t cleared = items_;
  removed->reserve(removed->size() + static_cast<size_t>(cleared));
  for (uint32_t number = 0; number < slots_; ++number) {
    Slot& slot = SlotAt(number);
    if (slot.generation != 0) {
      Unpin(slot);
      removed->push_back(std::move(slot.window));
      slot.window.chunks.clear();
      slot.generation = 0;
    }
  }
  sampler_->Clear();
  remover_->Clear();
  free_slots_.clear();
  slots_ = 0;
  pages_.clear();
  items_ = 0;
  draws_left_ = 0;
  items_removed_ += cleared;
  return cleared;
}

}  // namespace waggle
