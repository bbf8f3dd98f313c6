#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config/table/table_config.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/items/table_log.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// The part of a table that never changes. Needs no lock. Answers and drawn batches share it, which keeps the table.
class TableBase : public std::enable_shared_from_this<TableBase> {
 public:
  TableBase(const TableBase&) = delete;
  TableBase& operator=(const TableBase&) = delete;

  // The initial configuration. Its fixed settings (FixedDifferences) never change.
  const TableConfig& created() const { return created_; }
  const std::string& name() const { return created_.name; }
  int64_t max_window() const { return created_.max_window; }
  int64_t min_window() const { return min_window_; }
  // Rows of an item, with context.
  int64_t max_rows() const { return max_rows_; }
  const RowLayout& rows() const { return rows_; }

  // Null if nothing is saved.
  TableLog* log() const { return log_; }
  // For the log. Unique among tables; 0 without a log.
  uint64_t number() const { return number_; }
  bool logged() const { return log_ != nullptr && created_.durability == Durability::kLog; }
  // UNAVAILABLE while the disk refuses changes of this table.
  absl::Status log_status() const { return logged() ? log_->status() : absl::OkStatus(); }
  // Calls `answer` once earlier updates and deletions, and the table itself, are as safe as its durability promises.
  void AfterCommit(const TableLog::Answer& answer) const {
    if (logged()) {
      log_->AfterCommit(answer);
    } else {
      answer(absl::OkStatus());
    }
  }
  // Holds rows beyond the memory_limit; null without a limit.
  const std::shared_ptr<ChunkTier>& tier() const { return tier_; }

  // The table's name in messages.
  std::string title() const { return absl::StrCat("table \"", name(), "\""); }
  // The answer to requests of a closed table.
  absl::Status ClosedError() const { return absl::CancelledError(absl::StrCat(title(), " is closed")); }

 protected:
  TableBase(TableConfig created, TableLog* log, uint64_t number, std::shared_ptr<ChunkTier> tier)
      : created_(std::move(created)),
        max_rows_(created_.max_window + created_.MaxContextRows()),
        min_window_(created_.MinWindow()),
        rows_(created_.signature, ColumnCodecs(created_.signature, created_.compression)),
        log_(log),
        number_(number),
        tier_(std::move(tier)) {}
  ~TableBase() = default;

 private:
  const TableConfig created_;
  const int64_t max_rows_;  // Read once an item.
  const int64_t min_window_;
  const RowLayout rows_;
  TableLog* const log_;
  const uint64_t number_;
  const std::shared_ptr<ChunkTier> tier_;
};

}  // namespace waggle
