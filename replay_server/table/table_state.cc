#include "replay_server/table/table_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replay_server/selectors/new_selector.h"

namespace waggle {
namespace {

// Of a longer list of chunks.
int64_t ListBytes(size_t chunks) {
  constexpr size_t kFew = 2;
  return chunks > kFew ? static_cast<int64_t>(chunks * sizeof(ChunkRef)) : 0;
}

// From the machine's entropy, not from the run's seed: two servers of one run must not agree on what is made of it.
// Below 2^62, so that counting on from it stays positive as an int64 for longer than any server runs.
uint64_t RandomNumber() {
  std::random_device entropy;
  return (((static_cast<uint64_t>(entropy()) << 32) | entropy()) >> 2) + 1;
}

// Whether items need not be put into new selectors.
bool SameSelectors(const TableConfig& a, const TableConfig& b) {
  return a.sampler.priority_exponent == b.sampler.priority_exponent &&
         a.sampler.priority_epsilon == b.sampler.priority_epsilon &&
         a.sampler.uniform_share == b.sampler.uniform_share && a.sampler.recent_share == b.sampler.recent_share &&
         a.sampler.recent_items == b.sampler.recent_items && a.sampler.recent_decay == b.sampler.recent_decay &&
         a.sampler.recent_period == b.sampler.recent_period &&
         a.remover.priority_exponent == b.remover.priority_exponent;
}

}  // namespace

TableState::Contents::Contents(const TableConfig& config) : sampler(NewSampler(config)), remover(NewRemover(config)) {}

TableState::Contents::Contents(Contents&&) noexcept = default;
TableState::Contents& TableState::Contents::operator=(Contents&&) noexcept = default;
TableState::Contents::~Contents() = default;

TableState::TableState(const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryUse> memory)
    : config_(config),
      memory_(std::move(memory)),
      incarnation_(RandomNumber()),
      rng_(Rng::Split(seed, config.name, 0)),
      limiter_(config.rate_limiter),
      in_(config),
      next_generation_(RandomNumber()) {}

TableState::~TableState() {
  AddBytes(-bytes_, -tiered_bytes_);
}

absl::Status TableState::CheckBatchSize(const TableConfig& config, int64_t batch_size) {
  return config.CheckBatchSize(batch_size);
}

bool TableState::CanInsert(int64_t waiting_batch) const {
  return MayInsert(config_, limiter_, counts(), waiting_batch);
}

bool TableState::CanSample(const DrawRequest& request) const {
  return MaySample(config_, limiter_, counts(), request);
}

std::string TableState::WhyNoSample(const DrawRequest& request) const {
  std::string why = limiter_.WhyNoSample(items_, request.counted);
  if (why.empty() && !CanSample(request)) {
    why = config_.sampler.without_replacement && items_ < request.items
              ? absl::StrCat("samples wait for ", request.items - items_, " more items: a batch has ", request.items,
                             " different ones (without_replacement), there are ", items_)
              : absl::StrCat("samples wait for more items: those that there are may be drawn ", draws_left_,
                             " more times (max_times_sampled is ", config_.max_times_sampled, "), a batch is ",
                             request.items);
  }
  if (!why.empty() && byte_shortage_.has_value() && items_ < config_.rate_limiter.min_items) {
    absl::StrAppend(&why, "; max_bytes, ", config_.max_bytes, ", removes items before there are as many");
  }
  return why;
}

inline void TableState::NoteChange(uint32_t slot) {
  if (recording_ && !in_.items.changed(slot)) {
    in_.items.set_changed(slot, true);
    changed_.push_back(slot);
  }
}

void TableState::NoteAll() {
  for (uint32_t slot = 0; slot < slots(); ++slot) {
    if (in_.items.holds_item(slot)) {
      NoteChange(slot);
    }
  }
}

void TableState::AddBytes(int64_t bytes, int64_t tiered) {
  bytes_ += bytes;
  tiered_bytes_ += tiered;
  CountMemory();
}

int64_t TableState::MemoryBytes() const {
  return bytes_ - tiered_bytes_ + std::min(tiered_bytes_, config_.memory_limit);
}

void TableState::CountMemory() {
  const int64_t now = MemoryBytes();
  if (memory_ != nullptr && now != counted_) {
    memory_->Add(now - counted_);
  }
  counted_ = now;
}

void TableState::Pin(uint32_t slot) {
  int64_t bytes = 0;
  int64_t tiered = 0;
  const uint16_t pins = in_.items.pins(slot);
  const size_t chunks = in_.items.VisitChunks(slot, [&](const Chunk& chunk) {
    if ((*chunk.pins(pins))++ == 0) {
      bytes += chunk.block_bytes();
      tiered += chunk.tiered() != nullptr ? chunk.block_bytes() : 0;
    }
  });
  AddBytes(bytes + ListBytes(chunks), tiered);
}

void TableState::Unpin(uint32_t slot) {
  int64_t bytes = 0;
  int64_t tiered = 0;
  const uint16_t pins = in_.items.pins(slot);
  const size_t chunks = in_.items.VisitChunks(slot, [&](const Chunk& chunk) {
    if (--(*chunk.pins(pins)) == 0) {
      bytes += chunk.block_bytes();
      tiered += chunk.tiered() != nullptr ? chunk.block_bytes() : 0;
    }
  });
  AddBytes(-bytes - ListBytes(chunks), -tiered);
}

bool TableState::BytesAreShort() const {
  // A table that has more than may be in memory has none to give.
  return bytes_ > config_.max_bytes || (memory_ != nullptr && memory_->over() && MemoryBytes() == bytes_);
}

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

// Of an item that is there; the selectors are for the caller to tell.
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
  // Before the others leave, of which one may have it.
  const double priority = item.highest_priority ? HighestPriority() : Magnitude(item.priority);
  while (items_ >= config_.max_items) {
    RemoveOne(removed);
  }
  // The item that came last stays even where it alone is too large: so the others leave before it is there to be
  // picked.
  const uint32_t slot = in_.items.Take();
  in_.items.Fill(slot, std::move(item.window),
                 {next_generation_++, priority, item.policy_version, /*times_sampled=*/0, item.pins});
  if (priorities_.started()) {
    priorities_.Change(slot, BlockMaxima::kNone, priority);
  }
  NoteChange(slot);
  Pin(slot);
  if (BytesAreShort() && items_ > 0) {
    byte_shortage_ = ByteShortage{items_, bytes_ <= config_.max_bytes};
  }
  while (BytesAreShort() && items_ > 0) {
    RemoveOne(removed);
  }
  in_.sampler->Insert(slot, priority);
  in_.remover->Insert(slot, priority);
  ++items_;
  draws_left_ += config_.max_times_sampled;
  limiter_.CountInsert();
}

void TableState::RemoveSlot(uint32_t slot, RemovedRows* removed) {
  Unpin(slot);
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
  return std::max<int64_t>(0, items_ - config.max_items);
}

void TableState::Reconfigure(const TableConfig& config, RemovedRows* removed) {
  const bool selectors = !SameSelectors(config_, config);
  const bool times = config_.max_times_sampled != config.max_times_sampled;
  config_ = config;
  CountMemory();
  limiter_.Reconfigure(config.rate_limiter);
  byte_shortage_.reset();
  if (selectors) {
    RebuildSelectors();
  }
  if (times) {
    NoteAll();  // How often they were sampled may not have mattered so far.
    RemoveExhausted(removed);
  }
  while (items_ > config_.max_items || (BytesAreShort() && items_ > 1)) {
    RemoveOne(removed);
  }
}

// Those that were sampled often enough by the present limit leave; counts how often the others may still be.
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

// In the order in which the items came, which some selectors go by.
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

// What a batch says of a drawn item. Counts the draw.
SampledItem TableState::Take(const Draw& draw) {
  in_.items.CountSampled(draw.slot);
  if (recording_draws_ || config_.max_times_sampled > 0) {
    NoteChange(draw.slot);
  }
  SampledItem item = ItemAt(draw.slot);
  item.probability = draw.probability;
  return item;
}

SampledItem TableState::ItemAt(uint32_t slot) const {
  const ItemSlots::Facts facts = in_.items.facts(slot);
  SampledItem item;
  item.window = in_.items.window(slot);
  item.key = slot;
  item.generation = facts.generation;
  item.policy_version = facts.policy_version;
  item.times_sampled = facts.times_sampled;
  item.priority = facts.priority;
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
  // Two passes ahead, because a slot has to be here before it says where its chunk is.
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
  if (config_.max_times_sampled > 0) {  // Of different items.
    draws_left_ -= request.items;
    for (size_t i = 0; i < draws.size(); ++i) {
      if (static_cast<int64_t>(sampled.items[i].times_sampled) >= config_.max_times_sampled) {
        RemoveSlot(draws[i].slot, removed);
      }
    }
  }
  return sampled;
}

// Where an item may leave in the middle of a batch, each draw sees what the one before has left.
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

TableState::Match TableState::Find(uint64_t key, uint64_t generation) {
  if (key >= slots()) {
    return Match::kUnknown;
  }
  const uint64_t found = in_.items.generation(static_cast<uint32_t>(key));
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
  std::vector<uint32_t> found;
  std::vector<double> applied;
  found.reserve(keys.size());
  applied.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size() && keys[i + kAhead] < slots()) {
      in_.items.Prefetch(static_cast<uint32_t>(keys[i + kAhead]));
    }
    switch (Find(keys[i], generations[i])) {
      case Match::kItem:
        found.push_back(static_cast<uint32_t>(keys[i]));
        applied.push_back(Magnitude(priorities[i]));
        SetPriority(found.back(), applied.back());
        break;
      case Match::kStale:
        ++counts.stale;
        break;
      case Match::kUnknown:
        ++counts.unknown;
        break;
    }
  }
  in_.sampler->Update(found, applied);
  in_.remover->Update(found, applied);
  counts.applied = found.size();
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

int64_t TableState::Clear(Contents* contents) {
  const int64_t cleared = items_;
  for (uint32_t slot = 0; slot < slots(); ++slot) {
    if (in_.items.holds_item(slot)) {
      Unpin(slot);
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
  if (recording_) {
    cleared_ = true;
    changed_.clear();
  }
  return cleared;
}

uint32_t TableState::Scan(uint32_t first, uint32_t count, std::vector<ItemFacts>* items) const {
  const uint32_t end = first < slots() ? first + std::min(count, slots() - first) : first;
  for (uint32_t slot = first; slot < end; ++slot) {
    if (in_.items.holds_item(slot)) {
      items->push_back(FactsAt(slot));
    }
  }
  return end;
}

ItemFacts TableState::FactsAt(uint32_t slot) const {
  const ItemSlots::Facts facts = in_.items.facts(slot);
  return {slot,
          facts.generation,
          facts.priority,
          facts.policy_version,
          facts.times_sampled,
          in_.items.rows(slot),
          in_.items.context(slot)};
}

ChunkRef TableState::FirstChunk(uint64_t key, uint64_t generation) const {
  const auto slot = static_cast<uint32_t>(key);
  const bool there = key < slots() && generation != 0 && in_.items.generation(slot) == generation;
  return there ? in_.items.first_chunk(slot) : ChunkRef();
}

bool TableState::Hold(uint64_t key, ItemFacts* facts, Window* window) const {
  const auto slot = static_cast<uint32_t>(key);
  if (key >= slots() || !in_.items.holds_item(slot)) {
    return false;
  }
  *facts = FactsAt(slot);
  *window = in_.items.window(slot);
  return true;
}

void TableState::TakeChanges(size_t most, TableChanges* changes) {
  changes->cleared = std::exchange(cleared_, false);
  changes->counters = {incarnation_,       next_generation_, limiter_.inserts(),
                       limiter_.samples(), items_removed_,   priority_updates_};
  const size_t count = std::min(most, changed_.size());
  changes->items.reserve(changes->items.size() + count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t slot = changed_.front();
    changed_.pop_front();
    in_.items.set_changed(slot, false);
    ItemRecord record;
    record.slot = slot;
    if (in_.items.holds_item(slot)) {
      const ItemSlots::Facts facts = in_.items.facts(slot);
      Window window = in_.items.window(slot);
      record.generation = facts.generation;
      record.priority = facts.priority;
      record.policy_version = facts.policy_version;
      record.offset = window.offset;
      record.rows = window.rows;
      record.times_sampled = facts.times_sampled;
      record.pins = facts.pins;
      record.context = window.context;
      record.chunks = std::move(window.chunks);
    }
    changes->items.push_back(std::move(record));
  }
}

absl::Status TableState::Restore(const TableCounters& counters, std::vector<ItemRecord> items) {
  // Far more than a server gives between being saved and its end.
  constexpr uint64_t kNeverGiven = uint64_t{1} << 32;
  // Between the oldest item and the next one.
  constexpr uint64_t kMostGenerations = uint64_t{1} << 47;
  constexpr uint64_t kLastGeneration = uint64_t{1} << 63;
  uint32_t slots = 0;
  uint64_t newest = counters.next_generation;
  for (const ItemRecord& item : items) {
    // A slot is added for an item that finds none free: there are never more than items were inserted.
    if (int64_t{item.slot} >= counters.inserted || item.slot == std::numeric_limits<uint32_t>::max() ||
        item.generation == 0 || item.chunks.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds generation ", item.generation,
                                                     " over ", item.chunks.size(), " chunks, after ", counters.inserted,
                                                     " inserts"));
    }
    if (config_.max_times_sampled > 0 && int64_t{item.times_sampled} >= config_.max_times_sampled) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds an item that was sampled ",
                                                     item.times_sampled, " times, of ", config_.max_times_sampled));
    }
    newest = std::max(newest, item.generation);
    slots = std::max(slots, item.slot + 1);
  }
  std::sort(items.begin(), items.end(),
            [](const ItemRecord& a, const ItemRecord& b) { return a.generation < b.generation; });
  if (newest > kLastGeneration || (!items.empty() && newest - items.front().generation >= kMostGenerations)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is generation ", newest,
                     items.empty() ? ", too far on"
                                   : absl::StrCat(" and generation ", items.front().generation, ", too far apart")));
  }
  in_.items.Grow(slots);
  next_generation_ = counters.next_generation;
  for (ItemRecord& item : items) {
    if (in_.items.holds_item(item.slot)) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds two items"));
    }
    in_.items.Fill(item.slot, {std::move(item.chunks), item.offset, item.rows, item.context},
                   {item.generation, item.priority, item.policy_version, item.times_sampled, item.pins});
    Pin(item.slot);
    in_.sampler->Insert(item.slot, item.priority);
    in_.remover->Insert(item.slot, item.priority);
    ++items_;
    draws_left_ += config_.max_times_sampled > 0 ? config_.max_times_sampled - item.times_sampled : 0;
    next_generation_ = std::max(next_generation_, item.generation + 1);
  }
  in_.items.CollectFree();
  incarnation_ = counters.incarnation;
  // What is drawn from now on follows from the seed and from when it was saved, and is not what was drawn at first.
  rng_ = Rng::Split(config_.seed, config_.name, next_generation_);
  next_generation_ += kNeverGiven;
  limiter_.Restore(counters.inserted, counters.sampled);
  items_removed_ = counters.removed;
  priority_updates_ = counters.priority_updates;
  return absl::OkStatus();
}

}  // namespace waggle
