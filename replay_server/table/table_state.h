#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/api/replay.h"
#include "common/api/table_config.h"
#include "common/base/random.h"
#include "replay_server/table/chunk.h"
#include "replay_server/table/rate_limiter.h"
#include "replay_server/table/selector.h"

namespace waggle {

// Consecutive rows of one stream: the chunks that hold them, in order. Nearly all windows lie in one chunk or two.
struct Window {
  absl::InlinedVector<ChunkRef, 2> chunks;
  uint32_t offset = 0;  // Of the first row in the first chunk.
  uint32_t rows = 0;
};

// An item on its way into a table.
struct NewItem {
  Window window;
  double priority = 0;
  uint64_t policy_version = 0;
  uint16_t pins = 0;  // The table's number among the writer's tables: which of the chunks' pins are its own.
};

// A drawn item. It shares the rows, which stay alive whatever becomes of the item.
struct SampledItem {
  Window window;
  uint64_t key = 0;
  uint64_t generation = 0;
  uint64_t policy_version = 0;
  uint32_t times_sampled = 0;  // This time included.
  double probability = 0;
  double priority = 0;
};

struct Sampled {
  std::vector<SampledItem> items;
  // Of the table before the draw.
  int64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
};

// The rows of removed items. Freeing them takes long and is done by the caller after it has released its lock.
using RemovedRows = std::vector<Window>;

// What a table holds, and its rules. Not thread-safe, and without a lock, a thread or a clock.
//
// A key is the number of the slot that holds the item, used again after the item has left. A generation is never used
// again, not even by a restarted server: it counts on from a random number.
class TableState {
 public:
  // The configuration is valid.
  TableState(const TableConfig& config, uint64_t seed);
  ~TableState();

  // INVALID_ARGUMENT for a priority that is negative, not finite or too large for such a table.
  static absl::Status ValidatePriority(const TableConfig& config, double priority);
  // FAILED_PRECONDITION if a batch of this size could never be sampled; says which setting is too small.
  static absl::Status CheckBatchSize(const TableConfig& config, int64_t batch_size);

  // Whether an item may be inserted while a batch of `waiting_batch` (0: none) is the next to be sampled. That is the
  // rate limiter's rule, and also where the batch waits for items that have not used up max_times_sampled: blocking
  // inserts then would block both for ever.
  bool CanInsert(int64_t waiting_batch) const;
  bool CanSample(int64_t batch_size) const;
  // Inserts it and removes what there is too much of then, oldest first.
  void Insert(NewItem item, RemovedRows* removed);
  // CanSample(batch_size) must hold. Removes items that were sampled often enough.
  Sampled Sample(int64_t batch_size, RemovedRows* removed);

  // The spans have one length; the priorities are valid.
  PriorityUpdateCounts UpdatePriorities(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                                        absl::Span<const double> priorities);
  PriorityUpdateCounts Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                              RemovedRows* removed);
  int64_t Clear(RemovedRows* removed);

  int64_t items() const { return items_; }
  // Of the chunks that items share, each counted once. A block's memory is one piece, so up to a block a writer more
  // may be in use.
  int64_t bytes() const { return bytes_; }
  int64_t items_inserted() const { return limiter_.inserts(); }
  int64_t items_sampled() const { return limiter_.samples(); }
  int64_t items_removed() const { return items_removed_; }
  const PriorityUpdateCounts& priority_updates() const { return priority_updates_; }
  double PrioritySum() const { return sampler_->Sum(); }

  // In words, what inserts or a batch wait for; empty where they may go on.
  std::string WhyNoInsert() const { return limiter_.WhyNoInsert(items_); }
  std::string WhyNoSample(int64_t batch_size) const;

 private:
  struct Slot;
  enum class Match { kItem, kStale, kUnknown };

  Slot& SlotAt(uint32_t slot);
  uint32_t TakeSlot();
  void RemoveSlot(uint32_t slot, RemovedRows* removed);
  void Pin(const Slot& slot);
  void Unpin(const Slot& slot);
  Match Find(uint64_t key, uint64_t generation);
  void DrawOneByOne(std::vector<Draw>* draws, Sampled* sampled, RemovedRows* removed);
  SampledItem Take(const Draw& draw);

  const TableConfig config_;
  Rng rng_;
  RateLimiter limiter_;
  std::unique_ptr<Selector> sampler_;
  std::unique_ptr<Selector> remover_;
  // Slots in pages of fixed size, so that a growing table never copies them.
  std::vector<std::unique_ptr<Slot[]>> pages_;
  std::vector<uint32_t> free_slots_;
  uint32_t slots_ = 0;  // That were ever used.
  uint64_t next_generation_;
  int64_t items_ = 0;
  int64_t bytes_ = 0;
  int64_t items_removed_ = 0;
  int64_t draws_left_ = 0;  // Until every item is sampled max_times_sampled times, where that is limited.
  bool bytes_were_short_ = false;
  PriorityUpdateCounts priority_updates_;
};

}  // namespace waggle
