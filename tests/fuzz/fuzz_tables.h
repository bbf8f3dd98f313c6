#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/net/array_spec_convert.h"
#include "common/net/message.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/store/replay_store.h"
#include "waggle/v1/replay.pb.h"

namespace waggle::fuzz {

inline constexpr uint8_t kTables = 3;

inline std::string TableName(uint8_t number) {
  return absl::StrCat("table", static_cast<int>(number));
}

// Limits that small inputs reach.
inline ReplayStoreOptions SmallStore() {
  ReplayStoreOptions options;
  options.max_tables = 8;
  options.known_writers.max_writers = 4;
  options.writer.max_block_bytes = 1 << 16;
  options.writer.max_streams = 16;
  options.writer.max_held_bytes = 1 << 18;
  options.writer.max_block_references = 256;
  return options;
}

inline TableConfig Table(uint8_t number) {
  TableConfig config;
  config.name = TableName(number);
  config.signature = {{"a", DType::kFloat32, {2}}, {"b", DType::kUint8, {}}};
  config.view = {{"first", "a", ViewField::Rows::kFirst, number == 1 ? 3 : 1},
                 {"all", "b", ViewField::Rows::kAll, number == 1 ? 2 : 1}};
  config.max_items = 20;
  config.max_bytes = 1 << 16;
  config.max_window = 4;
  config.sampler.kind = number == 0 ? SelectorKind::kPrioritized : SelectorKind::kFifo;
  config.sampler.absolute_priorities = number == 1;
  config.max_times_sampled = number == 1 ? 2 : 0;
  if (number == 2) {
    config.compression = {{"a", Codec::kZstd}, {"b", Codec::kLz4}};
  }
  return config;
}

inline void CreateTables(ReplayStore* store) {
  for (uint8_t number = 0; number < kTables; ++number) {
    WAGGLE_CHECK(store->CreateTable(Table(number)).ok(), "the table is valid");
  }
}

inline Message<v1::InsertRequest> OpenInsert(uint8_t table) {
  Message<v1::InsertRequest> message;
  v1::InsertOpen* open = message.header.mutable_open();
  open->set_writer_id("w");
  open->add_tables(TableName(table));
  for (const ArraySpec& column : Table(table).signature) {
    *open->add_signature() = ToProto(column);
  }
  return message;
}

// Rows of zeros for these chunks, compressed like the table's, and an item over the last `rows` rows of each stream for
// each of the writer's tables, or over as many as possible.
inline InsertBlock ZeroBlock(const TableConfig& config, std::vector<ChunkInfo> chunks, uint32_t tables, uint32_t rows) {
  InsertBlock block;
  const RowLayout layout(config.signature);
  size_t bytes = 0;
  for (const ChunkInfo& chunk : chunks) {
    bytes += chunk.rows * layout.row_bytes;
    for (uint32_t table = 0; table < tables; ++table) {
      const uint64_t next = chunk.first_row + chunk.rows;
      const auto there = static_cast<uint32_t>(std::min<uint64_t>(rows, next));
      block.items.push_back({table, chunk.stream, next - there, there, 1.0, 0});
    }
  }
  block.highest_priority = true;
  block.chunks = std::move(chunks);
  const auto zeros = std::make_shared<std::string>(bytes, '\0');
  block.data.Append({zeros->data(), bytes, zeros});
  WAGGLE_CHECK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block).ok(),
               "the block is whole");
  return block;
}

inline void InsertSome(ReplayStore* store, uint8_t table) {
  const TableConfig config = Table(table);
  const auto session = *store->OpenWriter(absl::StrCat("w", table), {config.name}, config.signature);
  for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
    session->Insert(sequence, ZeroBlock(config, {{0, 4 * (sequence - 1), 4, false}}, 1, 2),
                    [](const auto& result) { WAGGLE_CHECK(result.ok(), result.status().ToString()); });
  }
}

// Samples all accepted items; they must be there, unless they come from a disk.
inline void SampleAll(ReplayStore* store, bool may_be_damaged = false) {
  for (const std::shared_ptr<waggle::Table>& table : store->tables()) {
    const auto layout = MakeBatchLayout(table->created(), 3, size_t{1} << 24);
    if (layout.ok()) {
      table->Sample(std::make_shared<const BatchLayout>(*layout), 3, [may_be_damaged](const auto& batch) {
        WAGGLE_CHECK(batch.ok() || may_be_damaged || !absl::IsDataLoss(batch.status()),
                     "what was accepted can be read");
      });
    }
  }
}

}  // namespace waggle::fuzz
