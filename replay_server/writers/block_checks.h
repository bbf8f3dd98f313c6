#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/replay/ports/replay.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/reserved_rows.h"
#include "replay_server/writers/writer_session_options.h"

namespace waggle {

// The most rows, with context, that an item of these tables may have.
uint64_t LongestWindow(const std::vector<std::shared_ptr<Table>>& tables);

// Checks a block of rows and items, whose sender may be wrong or hostile, before any of it is applied. INVALID_ARGUMENT
// if the block can never be right, RESOURCE_EXHAUSTED if it exceeds the options or an item's table; both messages say
// where. Constant, so thread-safe.
class BlockChecks {
 public:
  // The tables must have these rows. They and `rows` must outlive this.
  BlockChecks(const std::vector<std::shared_ptr<Table>>& tables, const RowLayout& rows,
              const WriterSessionOptions& options)
      : tables_(tables), rows_(rows), options_(options), longest_window_(LongestWindow(tables)) {}

  // Checks the chunks and the number of their bytes. Fills in the ranges of their streams, with the block.
  absl::Status CheckChunks(const InsertBlock& block, const ReservedRows& held, ReservedRows::Ranges* streams) const;
  // Checks the items. Their rows must be held or in the block.
  absl::Status CheckItems(const InsertBlock& block, const ReservedRows& held,
                          const ReservedRows::Ranges& streams) const;
  // Checks the values of the copied rows.
  absl::Status CheckRows(const InsertBlock& block, const NewBlock& made) const;

 private:
  absl::Status CheckSizes(const InsertBlock& block, uint64_t rows, const ReservedRows& held,
                          const ReservedRows::Ranges& streams) const;
  absl::Status CheckPieces(const InsertBlock& block) const;
  // `range` is its stream's, with the block; null if the stream is unknown.
  absl::Status CheckItem(const ItemInfo& item, const ReservedRows::Range* range) const;
  // RESOURCE_EXHAUSTED if no table of this configuration can hold the item.
  absl::Status CheckItemBytes(const ItemInfo& item, const TableConfig& config) const;
  absl::Status CheckPlainColumn(const InsertBlock& block, const NewBlock& made, size_t total_rows, size_t column) const;
  absl::Status CheckCompressedColumn(const InsertBlock& block, const NewBlock& made, size_t column) const;
  // `element` counts from the chunk's first.
  static absl::Status NotFiniteError(const InsertBlock& block, const ArraySpec& column, size_t chunk, uint64_t element);

  const std::vector<std::shared_ptr<Table>>& tables_;
  const RowLayout& rows_;
  const WriterSessionOptions options_;
  const uint64_t longest_window_;
};

}  // namespace waggle
