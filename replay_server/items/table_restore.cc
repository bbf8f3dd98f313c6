#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_name.h"
#include "replay_server/items/table_state.h"

// A table's records, and its content made from them.

namespace waggle {

TableCounters TableState::counters() const {
  return {incarnation_,   next_generation_,  limiter_.inserts(), limiter_.samples(),
          items_removed_, priority_updates_, limiter_.carried()};
}

void TableState::TakeChanges(size_t most, TableChanges* changes) {
  changes->counters = counters();
  changes_.Take(most, &in_.items, changes);
}

absl::Status TableState::PutBack(std::vector<ItemRecord> items) {
  std::sort(items.begin(), items.end(),
            [](const ItemRecord& a, const ItemRecord& b) { return a.generation < b.generation; });
  uint32_t slots = 0;
  for (const ItemRecord& item : items) {
    slots = std::max(slots, item.slot + 1);
  }
  in_.items.Grow(slots);
  for (ItemRecord& item : items) {
    if (in_.items.holds_item(item.slot)) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds two items"));
    }
    in_.items.Fill(item.slot, {std::move(item.chunks), item.offset, item.rows, item.context},
                   {item.generation, item.priority, item.policy_version, item.times_sampled, item.pins});
    bytes_.Pin(in_.items, item.slot);
    in_.sampler->Insert(item.slot, item.priority);
    in_.remover->Insert(item.slot, item.priority);
    ++items_;
    draws_left_ += config_.max_times_sampled > 0 ? config_.max_times_sampled - item.times_sampled : 0;
    next_generation_ = std::max(next_generation_, item.generation + 1);
  }
  in_.items.CollectFree();
  return absl::OkStatus();
}

void TableState::RestartDraws() {
  Rng inserted = Rng::Split(config_.seed, PlainTableName(config_.name), static_cast<uint64_t>(limiter_.inserts()) + 1);
  rng_ = Rng::Split(inserted.Next(), "sampled", static_cast<uint64_t>(limiter_.samples()));
}

absl::Status TableState::Restore(const TableCounters& counters, std::vector<ItemRecord> items) {
  // Far more generations than a server gives between a save and its end.
  constexpr uint64_t kNeverGiven = uint64_t{1} << 32;
  WAGGLE_RETURN_IF_ERROR(CheckSavedItems(config_, counters, items));
  next_generation_ = counters.next_generation;
  WAGGLE_RETURN_IF_ERROR(PutBack(std::move(items)));
  next_generation_ += kNeverGiven;
  incarnation_ = counters.incarnation;
  limiter_.Restore(counters.inserted, counters.sampled, counters.ratio_carried);
  items_removed_ = counters.removed;
  priority_updates_ = counters.priority_updates;
  RestartDraws();
  return absl::OkStatus();
}

void TableState::BeginAnew(Contents* contents) {
  std::vector<ItemRecord> records;
  records.reserve(static_cast<size_t>(items_));
  for (uint32_t slot = 0; slot < slots(); ++slot) {
    if (in_.items.holds_item(slot)) {
      records.push_back(RecordOf(in_.items, slot));
    }
  }
  std::swap(in_, *contents);
  items_ = 0;
  draws_left_ = 0;
  byte_shortage_.reset();
  priorities_ = BlockMaxima();
  const absl::Status put = PutBack(std::move(records));
  WAGGLE_CHECK(put.ok(), put.ToString());
  // Last, so that no block is without a pin meanwhile.
  for (uint32_t slot = 0; slot < contents->items.size(); ++slot) {
    if (contents->items.holds_item(slot)) {
      bytes_.Unpin(contents->items, slot);
    }
  }
  changes_.MoveTo(&in_.items);
  RestartDraws();
}

}  // namespace waggle
