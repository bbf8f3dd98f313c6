#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/api/replay.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/held_rows.h"
#include "replay_server/writers/writer_session_options.h"

namespace waggle {

// The most rows that an item of one of these tables may have, context included.
uint64_t LongestWindow(const std::vector<std::shared_ptr<Table>>& tables);

// What has to hold of a block of rows and items before anything of it is applied: it was sent by somebody who may be
// wrong, or worse. INVALID_ARGUMENT for what can never be right, RESOURCE_EXHAUSTED for more than the options or an
// item's table allow; both say where. Constant, and so thread-safe.
class BlockChecks {
 public:
  // The tables have these rows; they and `rows` outlive it.
  BlockChecks(const std::vector<std::shared_ptr<Table>>& tables, const RowLayout& rows,
              const WriterSessionOptions& options)
      : tables_(tables), rows_(rows), options_(options), longest_window_(LongestWindow(tables)) {}

  // Of the chunks and of their bytes' number. Fills in where each of their streams will begin and end.
  absl::Status CheckChunks(const InsertBlock& block, const HeldRows& held, HeldRows::Ranges* streams) const;
  // Of the items, whose rows are held or in the block.
  absl::Status CheckItems(const InsertBlock& block, const HeldRows& held, const HeldRows::Ranges& streams) const;
  // Of the values of the rows, which have been copied.
  absl::Status CheckRows(const InsertBlock& block, const NewBlock& made) const;

 private:
  absl::Status CheckSizes(const InsertBlock& block, uint64_t rows, const HeldRows& held,
                          const HeldRows::Ranges& streams) const;
  absl::Status CheckPieces(const InsertBlock& block) const;
  // `range` is its stream's, with the block; null for an unknown one.
  absl::Status CheckItem(const ItemInfo& item, const HeldRows::Range* range) const;
  // RESOURCE_EXHAUSTED for one that no table of this configuration can hold.
  absl::Status CheckItemBytes(const ItemInfo& item, const TableConfig& config) const;
  absl::Status CheckPlainColumn(const InsertBlock& block, const NewBlock& made, size_t total_rows, size_t column) const;
  absl::Status CheckCompressedColumn(const InsertBlock& block, const NewBlock& made, size_t column) const;
  // `element` counts from the first one of this chunk on.
  static absl::Status NotFiniteError(const InsertBlock& block, const ArraySpec& column, size_t chunk, uint64_t element);

  const std::vector<std::shared_ptr<Table>>& tables_;
  const RowLayout& rows_;
  const WriterSessionOptions options_;
  const uint64_t longest_window_;
};

}  // namespace waggle
