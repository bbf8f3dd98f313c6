#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/block_maxima.h"
#include "common/base/random.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/base/memory_account.h"
#include "replay_server/items/item_records.h"
#include "replay_server/items/item_slots.h"
#include "replay_server/items/rate_limiter.h"
#include "replay_server/items/row_bytes.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_rules.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/selectors/selector.h"

namespace waggle {

// An item to insert.
struct NewItem {
  Window window;  // At least the table's MinWindow() rows.
  double priority = 0;
  bool highest_priority = false;  // Replaces `priority` by the table's highest, or by 1 if it is empty.
  uint64_t policy_version = 0;
  uint16_t pins = 0;  // Holder number of the table in the blocks' pins.
};

// A drawn item. It shares the rows and keeps them alive.
struct SampledItem {
  // In a table with a future row: the transition, and of the following chunks only those that the future row needs.
  Window window;
  uint32_t future_row = 0;    // Index in the window's chunks, from its first row, with context.
  int64_t future_offset = 0;  // Distance from the item's first row; 0 without a future row.
  uint64_t key = 0;
  uint64_t generation = 0;
  uint64_t policy_version = 0;
  uint32_t times_sampled = 0;  // Including this time.
  double probability = 0;
  double priority = 0;
};

struct Sampled {
  std::vector<SampledItem> items;
  // The table's, before the draw.
  int64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  double samples_allowed = 0;  // After the draw.
  uint64_t table_incarnation = 0;
};

// Rows of removed items. The caller frees them after it has released its lock, because that takes long.
using RemovedRows = std::vector<WindowChunks>;

// A table's content and rules. Has no lock, threads or clock; not thread-safe. A key is the number of the item's slot,
// which is reused. Generations are never reused, not even by a restarted server: they count from a random number.
class TableState {
 public:
  struct Contents {
    explicit Contents(const TableConfig& config);

    std::unique_ptr<Selector> sampler;
    std::unique_ptr<Selector> remover;
    ItemSlots items;
  };

  // The configuration must be valid. `memory` may be shared with other tables; null if only the table's own limit
  // counts. With a memory_limit it counts the bytes that may be in memory.
  TableState(const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryAccount> memory = nullptr);

  // True if an item may be inserted while the largest waiting batch has `waiting_batch` items (0: none). See MayInsert.
  bool CanInsert(int64_t waiting_batch) const { return MayInsert(config_, limiter_, counts(), waiting_batch); }
  bool CanSample(const DrawRequest& request, const SetAside& set_aside = {}) const {
    return MaySample(config_, limiter_, counts(), request, set_aside);
  }
  // The largest batch that the table can probably serve. Items may still leave for their bytes before it has enough.
  int64_t LargestPossibleBatch() const {
    return LargestBatch(config_, byte_shortage_.has_value() ? byte_shortage_->items : config_.max_items);
  }
  // Reserves for a batch that has been the oldest since `items_inserted`.
  SetAside SetAsideSince(int64_t items_inserted, const DrawRequest& request) const {
    return request.items > LargestPossibleBatch()
               ? SetAside()
               : SetAsideFor(config_, limiter_, counts(), request, limiter_.inserts() - items_inserted);
  }
  // Inserts the item. Surplus items then leave, as the remover picks them.
  void Insert(NewItem item, RemovedRows* removed);
  // CanSample(request) must be true. Removes items that were sampled often enough.
  Sampled Sample(const DrawRequest& request, RemovedRows* removed);

  // The new configuration must have no FixedDifferences from the present one. Surplus items leave.
  void Reconfigure(const TableConfig& config, RemovedRows* removed);
  // The approximate number of items that would leave. Walks all items if max_times_sampled changes.
  int64_t ItemsOver(const TableConfig& config) const;

  // The spans must have the same length and the priorities must be valid.
  PriorityUpdateCounts UpdatePriorities(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                                        absl::Span<const double> priorities);
  PriorityUpdateCounts Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                              RemovedRows* removed);
  // Swaps its content with `contents`, which must be empty: freeing takes long. Returns the number of items.
  int64_t Clear(Contents* contents);

  // Starts recording changed slots. Sampling changes an item if `draws` is true or its count matters.
  void StartRecording(bool draws) { changes_.Start(draws); }
  void StopRecording() { changes_.Stop(); }
  // Takes up to `most` of the slots that changed since they were taken last, oldest changes first, and the counters.
  void TakeChanges(size_t most, TableChanges* changes);
  size_t changed_slots() const { return changes_.size(); }
  // Restores an empty table. Later generations are new, even after a crash. INVALID_ARGUMENT for impossible items.
  absl::Status Restore(const TableCounters& counters, std::vector<ItemRecord> items);
  // Goes on as a table does that is restored from the present items and counters: later requests draw and remove the
  // same items. `contents` must be empty and of the present configuration; it gets the old content, whose freeing takes
  // long. Copies a record of each item, so it is for moments when few clients wait.
  void BeginAnew(Contents* contents);

  const TableConfig& config() const { return config_; }
  // A random number that no other table has, nor this one after a restart.
  uint64_t incarnation() const { return incarnation_; }
  // Slots that were ever used; the generation in one of them, 0 if empty; and that item, without a probability.
  uint32_t slots() const { return in_.items.size(); }
  uint64_t GenerationAt(uint32_t slot) const { return in_.items.generation(slot); }
  SampledItem ItemAt(uint32_t slot) const;
  int64_t items() const { return items_; }
  // See RowBytes.
  int64_t bytes() const { return bytes_.bytes(); }
  int64_t items_inserted() const { return limiter_.inserts(); }
  int64_t items_sampled() const { return limiter_.samples(); }
  int64_t items_removed() const { return items_removed_; }
  const PriorityUpdateCounts& priority_updates() const { return priority_updates_; }
  double PrioritySum() const { return in_.sampler->Sum(); }

  // For people. Appends the items in slots [first, first + count). Returns the slot after those.
  uint32_t Scan(uint32_t first, uint32_t count, std::vector<ItemFacts>* items) const {
    return in_.items.Scan(first, count, items);
  }
  // The chunk of an item's first row; null if it has left.
  ChunkRef FirstChunk(uint64_t key, uint64_t generation) const { return in_.items.FirstChunk(key, generation); }
  // False if no item has this key.
  bool Hold(uint64_t key, ItemFacts* facts, Window* window) const { return in_.items.Hold(key, facts, window); }
  // The generation of the next item.
  uint64_t next_generation() const { return next_generation_; }

  const RateLimiter& limiter() const { return limiter_; }
  TableCounts counts() const { return {items_, draws_left_}; }
  // The last time that items left for their bytes, since the configuration changed or the table was cleared: the number
  // of items, and whether the memory of all tables was short.
  struct ByteShortage {
    int64_t items = 0;
    bool shared_memory = false;
  };
  const std::optional<ByteShortage>& byte_shortage() const { return byte_shortage_; }
  const MemoryAccount* memory() const { return bytes_.memory(); }

  // Explain what inserts or a batch wait for; empty if they need not wait.
  std::string WhyNoInsert() const { return limiter_.WhyNoInsert(items_); }
  std::string WhyNoSample(const DrawRequest& request) const {
    return waggle::WhyNoSample(config_, limiter_, counts(), request, byte_shortage_.has_value());
  }

 private:
  TableCounters counters() const;
  // Puts items, in order of generations, into an empty table. INVALID_ARGUMENT if a slot has two.
  absl::Status PutBack(std::vector<ItemRecord> items);
  // Draws follow from the seed and from the items inserted and sampled so far, which are alike in equal runs.
  void RestartDraws();
  void NoteChange(uint32_t slot) { changes_.Note(slot, &in_.items); }
  void RemoveSlot(uint32_t slot, RemovedRows* removed);
  void RemoveOne(RemovedRows* removed);
  void RemoveExhausted(RemovedRows* removed);
  void RebuildSelectors();
  double Magnitude(double priority) const;
  double HighestPriority();
  void SetPriority(uint32_t slot, double priority);
  void DrawOneByOne(std::vector<Draw>* draws, Sampled* sampled, RemovedRows* removed);
  SampledItem Take(const Draw& draw);
  void DrawFuture(uint32_t slot, SampledItem* item);

  TableConfig config_;
  const bool has_future_;
  uint64_t incarnation_;
  Rng rng_;
  RateLimiter limiter_;
  Contents in_;
  RowBytes bytes_;
  uint64_t next_generation_;
  int64_t items_ = 0;
  int64_t items_removed_ = 0;
  int64_t draws_left_ = 0;  // As in TableCounts.
  std::optional<ByteShortage> byte_shortage_;
  BlockMaxima priorities_;  // By slot. Maintained once the highest was requested.
  PriorityUpdateCounts priority_updates_;
  ChangedSlots changes_;
};

}  // namespace waggle
