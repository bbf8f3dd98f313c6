#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/rpc/array_spec_convert.h"
#include "common/rpc/message.h"
#include "replay_server/table/replay_store.h"
#include "waggle/v1/replay.pb.h"

namespace waggle::fuzz {

inline constexpr uint8_t kTables = 3;

inline std::string TableName(uint8_t number) {
  return absl::StrCat("table", static_cast<int>(number));
}

// Limits that a fuzzer's small inputs reach.
inline ReplayStoreOptions SmallStore() {
  ReplayStoreOptions options;
  options.max_tables = 8;
  options.max_writers = 4;
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

// What was accepted has to be there to be sampled.
inline void SampleAll(ReplayStore* store) {
  for (const std::shared_ptr<waggle::Table>& table : store->tables()) {
    const auto layout = MakeBatchLayout(table->created(), 3, size_t{1} << 24);
    if (layout.ok()) {
      table->Sample(std::make_shared<const BatchLayout>(*layout), 3, [](const absl::StatusOr<SampledBatch>& batch) {
        WAGGLE_CHECK(batch.ok() || !absl::IsDataLoss(batch.status()), "what was accepted can be read");
      });
    }
  }
}

}  // namespace waggle::fuzz
