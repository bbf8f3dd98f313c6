#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/base/reason.h"
#include "replay_server/writers/writer_session.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/id_rows.h"

// A writer's session at a small table, and its blocks.

namespace waggle::testing::writers {

// The rows of a block, in two slices that split an element.
inline ByteSlices Rows(const std::vector<ChunkInfo>& chunks) {
  const ByteSlices whole = IdRows(chunks);
  if (whole.size() == 0) {
    return {};
  }
  const std::shared_ptr<char> bytes = AllocateBytes(whole.size());
  whole.CopyTo(bytes.get());
  const size_t split = whole.size() / 2 + 3;
  ByteSlices slices;
  slices.Append({bytes.get(), split, bytes});
  slices.Append({bytes.get() + split, whole.size() - split, bytes});
  return slices;
}

inline InsertBlock Block(const std::vector<ChunkInfo>& chunks, const std::vector<ItemInfo>& items) {
  InsertBlock block;
  block.chunks = chunks;
  block.items = items;
  block.policy_version = 7;
  block.data = Rows(chunks);
  return block;
}

inline ItemInfo Item(uint32_t stream, uint64_t first_row, uint32_t rows, double priority = 1) {
  return {0, stream, first_row, rows, priority};
}

// One table that samples each item once, in order, and one writer.
struct Fixture {
  explicit Fixture(TableConfig config = Config(), WriterSessionOptions options = {}, TableLog* log = nullptr) {
    table = testing::ValueOf(Table::Create(config, 1, nullptr, log));
    session =
        std::make_shared<WriterSession>(std::vector<std::shared_ptr<Table>>{table}, config.signature, options, "", log);
  }
  ~Fixture() { table->Close(); }

  static TableConfig Config() {
    TableConfig config = testing::SmallTable();
    config.sampler.kind = SelectorKind::kFifo;
    config.max_times_sampled = 1;
    return config;
  }

  // The answer must come at once.
  absl::StatusOr<WriterSession::Result> Insert(uint64_t sequence, InsertBlock block) {
    absl::StatusOr<WriterSession::Result> answer = absl::UnknownError("no answer came");
    session->Insert(sequence, std::move(block), [&answer](auto result) { answer = std::move(result); });
    return answer;
  }

  SampledBatch Sample(int64_t count) {
    const auto layout =
        std::make_shared<const BatchLayout>(testing::ValueOf(MakeBatchLayout(table->created(), count, 1 << 24)));
    absl::StatusOr<SampledBatch> batch = absl::UnknownError("no batch came");
    table->Sample(layout, count, [&batch](auto result) { batch = std::move(result); });
    return testing::ValueOf(batch);
  }

  std::shared_ptr<Table> table;
  std::shared_ptr<WriterSession> session;
};

inline std::vector<int64_t> Ids(const SampledBatch& batch, size_t item) {
  const int64_t* ids = static_cast<const int64_t*>(batch.Data("ids")) + item * 4;
  const int64_t length = static_cast<const int64_t*>(batch.Data(kItemLength))[item];
  return std::vector<int64_t>(ids, ids + length);
}

}  // namespace waggle::testing::writers
