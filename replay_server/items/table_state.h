#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/api/replay.h"
#include "common/base/block_maxima.h"
#include "common/base/random.h"
#include "common/table_config/table_config.h"
#include "replay_server/base/memory_use.h"
#include "replay_server/items/item_slots.h"
#include "replay_server/items/rate_limiter.h"
#include "replay_server/items/row_bytes.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_rules.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/selectors/selector.h"

namespace waggle {

// An item on its way into a table.
struct NewItem {
  Window window;  // Of at least as many rows as the table's MinWindow().
  double priority = 0;
  bool highest_priority = false;  // Instead of `priority`, the highest one of the table's items; 1 where there is none.
  uint64_t policy_version = 0;
  uint16_t pins = 0;  // The table's number among the writer's tables: which of the blocks' pins are its own.
};

// A drawn item. It shares the rows, which stay alive whatever becomes of the item.
struct SampledItem {
  // Of a table with a future row the transition, and of the chunks behind it only those that the future row needs.
  Window window;
  uint32_t future_row = 0;     // In the window's chunks, counted from its first row, context included.
  uint32_t future_offset = 0;  // How many rows after the first of the item, without context; 0: it has none.
  uint64_t key = 0;
  uint64_t generation = 0;
  uint64_t policy_version = 0;
  uint32_t times_sampled = 0;  // This time included.
  double probability = 0;
  double priority = 0;
};

// What there is to say of an item without its rows.
struct ItemFacts {
  uint64_t key = 0;
  uint64_t generation = 0;
  double priority = 0;
  uint64_t policy_version = 0;
  uint32_t times_sampled = 0;
  uint32_t rows = 0;
  uint32_t context_rows = 0;
};

struct Sampled {
  std::vector<SampledItem> items;
  // Of the table before the draw.
  int64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  double samples_allowed = 0;  // After it.
  uint64_t table_incarnation = 0;
};

// The rows of removed items. Freeing them takes long and is done by the caller after it has released its lock.
using RemovedRows = std::vector<WindowChunks>;

// What a table holds, and its rules. Not thread-safe, and without a lock, a thread or a clock.
//
// A key is the number of the slot that holds the item, used again after the item has left. A generation is never used
// again, not even by a restarted server: it counts on from a random number.
class TableState {
 public:
  // The items, and the selectors that know them.
  struct Contents {
    explicit Contents(const TableConfig& config);
    Contents(Contents&&) noexcept;
    Contents& operator=(Contents&&) noexcept;
    ~Contents();

    std::unique_ptr<Selector> sampler;
    std::unique_ptr<Selector> remover;
    ItemSlots items;
  };

  // The configuration is valid. `memory` may be shared with other tables; null where only the table's own limit holds.
  // Of a table with a memory_limit it counts what may be in memory.
  TableState(const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryUse> memory = nullptr);

  // FAILED_PRECONDITION if a batch of this size could never be sampled; says which setting is too small.
  static absl::Status CheckBatchSize(const TableConfig& config, int64_t batch_size);

  // Whether an item may be inserted while a batch of `waiting_batch` (0: none) is the next to be sampled. That is the
  // rate limiter's rule, and also where the batch waits for more items, or for some that have not used up
  // max_times_sampled: blocking inserts then would block both for ever.
  bool CanInsert(int64_t waiting_batch) const;
  bool CanSample(const DrawRequest& request, const SetAside& set_aside = {}) const;
  // The largest batch that the table can serve as far as anybody knows: items may leave for their bytes before there
  // are enough for a larger one.
  int64_t LargestPossibleBatch() const;
  // For a batch that is the oldest since so many items had been inserted.
  SetAside SetAsideSince(int64_t items_inserted, const DrawRequest& request) const;
  // Inserts it; what there is too much of then leaves, as the remover picks it.
  void Insert(NewItem item, RemovedRows* removed);
  // CanSample(request) must hold. Removes items that were sampled often enough.
  Sampled Sample(const DrawRequest& request, RemovedRows* removed);

  // Changes the configuration to one that has no FixedDifferences from the present one. What is too much then leaves.
  void Reconfigure(const TableConfig& config, RemovedRows* removed);
  // About how many items would leave; walks all of them where they may be sampled so many times only.
  int64_t ItemsOver(const TableConfig& config) const;

  // The spans have one length; the priorities are valid.
  PriorityUpdateCounts UpdatePriorities(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                                        absl::Span<const double> priorities);
  PriorityUpdateCounts Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                              RemovedRows* removed);
  // Takes the place of `contents`, which are empty and become what was in it: freeing that takes long. Returns how many
  // items there were.
  int64_t Clear(Contents* contents);

  // From now on it notes which slots have changed. That an item was sampled counts as a change if `draws` is given, or
  // where it matters how often it was.
  void StartRecording(bool draws) {
    recording_ = true;
    recording_draws_ = draws;
  }
  void StopRecording() { recording_ = false; }
  // Hands over up to `most` of the slots that have changed since they were handed over last, those first that have
  // waited longest, and the counters.
  void TakeChanges(size_t most, TableChanges* changes);
  // How many slots there are to hand over.
  size_t changed_slots() const { return changed_.size(); }
  // Makes an empty table what it was when it was saved. Every generation given from now on is new, those included that
  // were given after it was saved. INVALID_ARGUMENT for items that cannot be.
  absl::Status Restore(const TableCounters& counters, std::vector<ItemRecord> items);
  // The same INVALID_ARGUMENT without a table. Whether two items have one slot it does not see.
  static absl::Status CheckSaved(const TableConfig& config, const TableCounters& counters,
                                 const std::vector<ItemRecord>& items);

  const TableConfig& config() const { return config_; }
  // A number that this table has and no other one, not even the one of this name after a restart of the server.
  uint64_t incarnation() const { return incarnation_; }
  // Slots that were ever used; the generation of the item in one of them, 0 where there is none; and that item, with no
  // probability.
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

  // For people who look into it. Appends the items in `count` slots from `first` on; returns the slot after those.
  uint32_t Scan(uint32_t first, uint32_t count, std::vector<ItemFacts>* items) const;
  // The chunk with the first row of an item; none where it has left.
  ChunkRef FirstChunk(uint64_t key, uint64_t generation) const;
  // False if there is no item of this key.
  bool Hold(uint64_t key, ItemFacts* facts, Window* window) const;
  // Of the item that is inserted next.
  uint64_t next_generation() const { return next_generation_; }

  const RateLimiter& limiter() const { return limiter_; }
  TableCounts counts() const { return {items_, draws_left_}; }
  // Where items had to leave for their bytes, since the configuration was changed or the table cleared: how many there
  // were when it happened last, and whether it was for the memory that all tables share.
  struct ByteShortage {
    int64_t items = 0;
    bool shared_memory = false;
  };
  const std::optional<ByteShortage>& byte_shortage() const { return byte_shortage_; }
  const MemoryUse* memory() const { return bytes_.memory(); }

  // In words, what inserts or a batch wait for; empty where they may go on.
  std::string WhyNoInsert() const { return limiter_.WhyNoInsert(items_); }
  std::string WhyNoSample(const DrawRequest& request) const;

 private:
  enum class Match { kItem, kStale, kUnknown };

  void NoteChange(uint32_t slot);
  void NoteAll();
  void RemoveSlot(uint32_t slot, RemovedRows* removed);
  void RemoveOne(RemovedRows* removed);
  void RemoveExhausted(RemovedRows* removed);
  void RebuildSelectors();
  ItemFacts FactsAt(uint32_t slot) const;
  Match Find(uint64_t key, uint64_t generation);
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
  int64_t draws_left_ = 0;  // Until every item is sampled max_times_sampled times, where that is limited.
  std::optional<ByteShortage> byte_shortage_;
  BlockMaxima priorities_;  // By slot; kept once somebody has asked for the highest.
  PriorityUpdateCounts priority_updates_;
  bool recording_ = false;
  bool recording_draws_ = false;
  bool cleared_ = false;          // Since the last time that changes were taken.
  std::deque<uint32_t> changed_;  // Slots, each once, in the order in which they changed first.
};

}  // namespace waggle
