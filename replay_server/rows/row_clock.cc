#include "replay_server/rows/row_clock.h"

#include <new>
#include <utility>

#include "replay_server/rows/chunk_tier.h"

namespace waggle {
namespace {

constexpr std::align_val_t kRowAlignment{64};

}  // namespace

TieredRows::TieredRows(std::shared_ptr<ChunkTier> of, ChunkBlock* block_of, DurableBlock* durable_of, size_t its_bytes)
    : tier(std::move(of)), block(block_of), durable(durable_of), bytes(its_bytes) {}

bool OnDisk(const TieredRows& rows) {
  return rows.written || (rows.durable != nullptr && rows.durable->committed.load(std::memory_order_acquire));
}

char* AllocateRows(size_t bytes) {
  return static_cast<char*>(::operator new(bytes, kRowAlignment));
}

void FreeRows(char* data) {
  ::operator delete(data, kRowAlignment);
}

FreedRows::~FreedRows() {
  for (char* const data : data_) {
    FreeRows(data);
  }
}

void RowClock::Add(TieredRows* rows, char* data) {
  rows->data = data;
  rows->in = &clock_;
  rows->at = clock_.insert(clock_.end(), rows);
  bytes_ += static_cast<int64_t>(rows->bytes);
  memory_bytes_ += static_cast<int64_t>(rows->bytes);
}

void RowClock::AddCold(TieredRows* rows) {
  rows->written = true;
  rows->in = &away_;
  rows->at = away_.insert(away_.end(), rows);
  bytes_ += static_cast<int64_t>(rows->bytes);
}

void RowClock::Remove(TieredRows* rows, FreedRows* freed) {
  rows->in->erase(rows->at);
  const auto bytes = static_cast<int64_t>(rows->bytes);
  bytes_ -= bytes;
  condemned_bytes_ -= rows->condemned ? bytes : 0;
  if (rows->data != nullptr) {
    freed->Add(rows->data);
    memory_bytes_ -= bytes;
  }
}

void RowClock::Move(TieredRows* rows, List* to) {
  to->splice(to->end(), *rows->in, rows->at);
  rows->in = to;
}

void RowClock::Drop(TieredRows* rows, FreedRows* freed) {
  SetBlockRows(rows->block, nullptr);
  freed->Add(std::exchange(rows->data, nullptr));
  memory_bytes_ -= static_cast<int64_t>(rows->bytes);
  Move(rows, &away_);
}

void RowClock::MakeRoom(int64_t target, FreedRows* freed) {
  // Two rounds are enough: the first clears `recent`.
  size_t looks = 2 * clock_.size();
  while (memory_bytes_ - condemned_bytes_ > target && looks-- > 0 && !clock_.empty()) {
    TieredRows* const rows = clock_.front();
    if (rows->pins > 0 || rows->recent) {
      rows->recent = rows->pins > 0;
      Move(rows, &clock_);
    } else if (OnDisk(*rows)) {
      Drop(rows, freed);
    } else {
      rows->condemned = true;
      condemned_bytes_ += static_cast<int64_t>(rows->bytes);
      Move(rows, &condemned_);
    }
  }
}

void RowClock::DropWritten(int64_t target, FreedRows* freed) {
  // The other rows keep their places. Recently read rows go last.
  for (const bool recent : {false, true}) {
    for (auto at = clock_.begin(); memory_bytes_ > target && at != clock_.end();) {
      TieredRows* const rows = *at++;
      if (rows->pins == 0 && rows->recent == recent && OnDisk(*rows)) {
        Drop(rows, freed);
      }
    }
  }
}

TieredRows* RowClock::TakeCondemned() {
  if (condemned_.empty()) {
    return nullptr;
  }
  TieredRows* const rows = condemned_.front();
  Move(rows, &away_);
  return rows;
}

void RowClock::EndWriting(TieredRows* rows, FreedRows* freed) {
  rows->written = true;
  rows->condemned = false;
  condemned_bytes_ -= static_cast<int64_t>(rows->bytes);
  if (rows->pins == 0 && !rows->recent) {
    Drop(rows, freed);
  } else {
    Move(rows, &clock_);
  }
}

void RowClock::WriteLater(TieredRows* rows) {
  Move(rows, &condemned_);
}

void RowClock::BeginLoad(const std::vector<TieredRows*>& rows) {
  for (TieredRows* const each : rows) {
    each->loading = true;
    memory_bytes_ += static_cast<int64_t>(each->bytes);
  }
}

void RowClock::EndLoad(TieredRows* rows, char* data) {
  rows->loading = false;
  rows->data = data;
  SetBlockRows(rows->block, data);
  Move(rows, &clock_);
}

void RowClock::GiveLoadUp(TieredRows* rows) {
  rows->loading = false;
  memory_bytes_ -= static_cast<int64_t>(rows->bytes);
}

}  // namespace waggle
