#include "replay_server/table/writer_session.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::SmallTable;

// The rows of a block as the fixture's rows say: ids, then pairs.
ByteSlices Rows(const std::vector<ChunkInfo>& chunks, int64_t nan_at = -1) {
  std::vector<int64_t> ids;
  for (const ChunkInfo& chunk : chunks) {
    for (uint32_t row = 0; row < chunk.rows; ++row) {
      ids.push_back(static_cast<int64_t>(chunk.stream * 1000 + chunk.first_row + row));
    }
  }
  if (ids.empty()) {
    return {};
  }
  const std::shared_ptr<char> bytes = AllocateBytes(ids.size() * 16);
  std::memcpy(bytes.get(), ids.data(), ids.size() * 8);
  for (size_t i = 0; i < ids.size(); ++i) {
    float pair[] = {static_cast<float>(ids[i]), -static_cast<float>(ids[i])};
    if (static_cast<int64_t>(i) == nan_at) {
      pair[1] = std::nanf("");
    }
    std::memcpy(bytes.get() + ids.size() * 8 + i * 8, pair, 8);
  }
  // In two slices that split an element.
  ByteSlices slices;
  const size_t split = ids.size() * 16 / 2 + 3;
  slices.Append({bytes.get(), split, bytes});
  slices.Append({bytes.get() + split, ids.size() * 16 - split, bytes});
  return slices;
}

InsertBlock Block(const std::vector<ChunkInfo>& chunks, const std::vector<ItemInfo>& items) {
  InsertBlock block;
  block.chunks = chunks;
  block.items = items;
  block.policy_version = 7;
  block.data = Rows(chunks);
  return block;
}

ItemInfo Item(uint32_t stream, uint64_t first_row, uint32_t rows, double priority = 1) {
  return {0, stream, first_row, rows, priority};
}

// One table that gives items back in their order, and one writer.
struct Fixture {
  explicit Fixture(TableConfig config = Config(), WriterSessionOptions options = {}) {
    table = testing::ValueOf(Table::Create(config, 1));
    session = std::make_shared<WriterSession>(std::vector<std::shared_ptr<Table>>{table}, config.signature, options);
  }
  ~Fixture() { table->Close(); }

  static TableConfig Config() {
    TableConfig config = SmallTable();
    config.sampler.kind = SamplerConfig::Kind::kFifo;
    config.max_times_sampled = 1;
    return config;
  }

  // The answer, which has to come at once.
  absl::StatusOr<WriterSession::Result> Insert(uint64_t sequence, InsertBlock block) {
    absl::StatusOr<WriterSession::Result> answer = absl::UnknownError("no answer came");
    session->Insert(sequence, std::move(block), [&answer](auto result) { answer = std::move(result); });
    return answer;
  }

  SampledBatch Sample(int64_t count) {
    const auto layout =
        std::make_shared<const BatchLayout>(testing::ValueOf(MakeBatchLayout(table->config(), count, 1 << 20)));
    absl::StatusOr<SampledBatch> batch = absl::UnknownError("no batch came");
    table->Sample(layout, count, [&batch](auto result) { batch = std::move(result); });
    return testing::ValueOf(batch);
  }

  std::shared_ptr<Table> table;
  std::shared_ptr<WriterSession> session;
};

std::vector<int64_t> Ids(const SampledBatch& batch, size_t item) {
  const int64_t* ids = static_cast<const int64_t*>(batch.Data("ids")) + item * 4;
  const int64_t length = static_cast<const int64_t*>(batch.Data(kItemLength))[item];
  return std::vector<int64_t>(ids, ids + length);
}

}  // namespace

TEST_CASE("a block's rows and items arrive as they were sent", "[unit]") {
  Fixture f;
  const auto result =
      testing::ValueOf(f.Insert(1, Block({{3, 0, 3}, {1, 0, 2}}, {Item(3, 0, 2), Item(1, 0, 2, 2.5), Item(3, 2, 1)})));
  REQUIRE(result.items_inserted == 3);
  REQUIRE(result.items_without_rows == 0);
  REQUIRE(f.session->applied_sequence() == 1);
  const SampledBatch batch = f.Sample(3);
  REQUIRE(Ids(batch, 0) == std::vector<int64_t>{3000, 3001});
  REQUIRE(Ids(batch, 1) == std::vector<int64_t>{1000, 1001});
  REQUIRE(Ids(batch, 2) == std::vector<int64_t>{3002});
  REQUIRE(static_cast<const double*>(batch.Data(kItemPriority))[1] == 2.5);
  REQUIRE(static_cast<const int64_t*>(batch.Data(kItemPolicyVersion))[1] == 7);
}

TEST_CASE("windows reach back over chunks and blocks", "[unit]") {
  Fixture f;
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 2}, {0, 2, 1}}, {})));
  REQUIRE_OK(f.Insert(2, Block({{0, 3, 1}}, {Item(0, 0, 4), Item(0, 1, 2)})));
  const SampledBatch batch = f.Sample(2);
  REQUIRE(Ids(batch, 0) == std::vector<int64_t>{0, 1, 2, 3});
  REQUIRE(Ids(batch, 1) == std::vector<int64_t>{1, 2});
  REQUIRE(static_cast<const float*>(batch.Data("last_pair"))[3] == -2);
}

TEST_CASE("windows over rows that the server does not have are counted, not refused", "[unit]") {
  Fixture f;
  // A restarted server sees a stream from the middle.
  const auto first =
      testing::ValueOf(f.Insert(1, Block({{0, 100, 2}}, {Item(0, 98, 3), Item(0, 100, 2), Item(5, 0, 1)})));
  REQUIRE(first.items_inserted == 1);
  REQUIRE(first.items_without_rows == 2);
  // Rows older than the longest window are forgotten.
  REQUIRE_OK(f.Insert(2, Block({{0, 102, 4}, {0, 106, 4}}, {})));
  const auto last = testing::ValueOf(f.Insert(3, Block({{0, 110, 1}}, {Item(0, 103, 2), Item(0, 107, 4)})));
  REQUIRE(last.items_without_rows == 1);
  REQUIRE(last.items_inserted == 1);
}

TEST_CASE("a block that was applied is answered and not applied again", "[unit]") {
  Fixture f;
  REQUIRE(testing::ValueOf(f.Insert(1, Block({{0, 0, 2}}, {Item(0, 0, 2)}))).items_inserted == 1);
  REQUIRE(testing::ValueOf(f.Insert(1, Block({{0, 0, 2}}, {Item(0, 0, 2)}))).items_inserted == 0);
  REQUIRE(f.table->info().items == 1);
  REQUIRE_CODE(f.Insert(3, Block({{0, 2, 2}}, {})), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(f.Insert(0, Block({{0, 2, 2}}, {})), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(f.Insert(2, Block({{0, 2, 2}}, {})));
  REQUIRE(f.session->applied_sequence() == 2);
}

TEST_CASE("blocks that wait for room are answered in order, resent ones too", "[unit]") {
  TableConfig config = Fixture::Config();
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.error_buffer = 1;
  Fixture f(config);
  std::vector<std::pair<int, uint64_t>> answers;
  const auto insert = [&](int name, uint64_t sequence, InsertBlock block) {
    f.session->Insert(sequence, std::move(block), [&answers, name](const auto& result) {
      answers.emplace_back(name, result.ok() ? result->items_inserted : 999);
    });
  };
  const InsertBlock second = Block({{0, 3, 1}}, {Item(0, 3, 1)});
  insert(1, 1, Block({{0, 0, 3}}, {Item(0, 0, 1), Item(0, 1, 1), Item(0, 2, 1)}));
  insert(2, 2, second);
  insert(3, 2, second);
  REQUIRE(answers.empty());
  REQUIRE(f.session->applied_sequence() == 0);
  f.Sample(1);
  REQUIRE(answers == std::vector<std::pair<int, uint64_t>>{{1, 3}});
  REQUIRE(f.session->applied_sequence() == 1);
  f.Sample(1);
  REQUIRE(answers == std::vector<std::pair<int, uint64_t>>{{1, 3}, {2, 1}, {3, 1}});
  REQUIRE(f.table->info().items_inserted == 4);
}

TEST_CASE("a block that can never be right is refused with nothing applied", "[unit]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Fixture f;
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 3}}, {})));
  const auto refuse = [&f](const InsertBlock& block, const std::string& why) {
    const absl::Status status = f.Insert(2, block).status();
    CAPTURE(status, why);
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(status.message(), why));
    REQUIRE(f.table->info().items_inserted == 0);
    REQUIRE(f.session->applied_sequence() == 1);
  };
  refuse(Block({{0, 4, 1}}, {}), "begins with row 4; the stream's next row is 3");
  refuse(Block({{0, 2, 1}}, {}), "next row is 3");
  refuse(Block({{0, 3, 1}, {0, 3, 1}}, {}), "next row is 4");
  refuse(Block({{1, 0, 0}}, {}), "0 rows");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 2)}), "past the last row of stream 0");
  refuse(Block({{0, 3, 1}}, {Item(0, std::numeric_limits<uint64_t>::max(), 4)}), "past the last row");
  refuse(Block({{0, 3, 2}}, {Item(0, 0, 5)}), "allows 1 to 4");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 0)}), "has 0 rows");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 1), Item(0, 3, 1, -1)}), "item 1: for table \"small\": priority -1");
  refuse(Block({{0, 3, 1}}, {Item(0, 3, 1, nan)}), "not a finite number");
  refuse(Block({{0, 3, 1}}, {{1, 0, 3, 1, 1}}), "table number 1");
  InsertBlock short_data = Block({{0, 3, 2}}, {});
  short_data.data = Rows({{0, 3, 1}});
  refuse(short_data, "got 16 bytes of rows; 2 rows of 16 bytes are 32");
  InsertBlock not_finite = Block({{1, 0, 2}, {0, 3, 2}}, {Item(0, 3, 1)});
  not_finite.data = Rows(not_finite.chunks, 3);
  refuse(not_finite, "column \"pair\" of stream 0, row 4, element 1 is not finite");
  InsertBlock overflow;
  overflow.chunks = {{1, std::numeric_limits<uint64_t>::max(), 1}};
  refuse(overflow, "none that a stream can have");
  InsertBlock huge;
  huge.chunks.assign(3, {9, 0, std::numeric_limits<uint32_t>::max()});
  huge.chunks[1].first_row = std::numeric_limits<uint32_t>::max();
  huge.chunks[2].first_row = 2 * uint64_t{std::numeric_limits<uint32_t>::max()};
  refuse(huge, "bytes that a block may have");
  // After all this the writer can go on.
  REQUIRE_OK(f.Insert(2, Block({{0, 3, 1}}, {Item(0, 0, 4)})));
}

TEST_CASE("a writer may not have more streams than allowed", "[unit]") {
  WriterSessionOptions options;
  options.max_streams = 2;
  Fixture f(Fixture::Config(), options);
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 1}, {7, 0, 1}}, {})));
  REQUIRE_CODE(f.Insert(2, Block({{8, 0, 1}}, {})), absl::StatusCode::kResourceExhausted);
  REQUIRE_OK(f.Insert(2, Block({{7, 1, 1}}, {})));
}

TEST_CASE("one block may fill several tables, which share its rows", "[unit]") {
  TableConfig first = Fixture::Config();
  TableConfig second = first;
  second.name = "second";
  const std::vector<std::shared_ptr<Table>> tables = {testing::ValueOf(Table::Create(first, 1)),
                                                      testing::ValueOf(Table::Create(second, 1))};
  const auto session = std::make_shared<WriterSession>(tables, first.signature, WriterSessionOptions{});
  uint64_t inserted = 0;
  session->Insert(1, Block({{0, 0, 2}}, {{0, 0, 0, 1, 1}, {1, 0, 0, 2, 1}, {1, 0, 1, 1, 1}}),
                  [&inserted](const auto& result) { inserted = result.ok() ? result->items_inserted : 0; });
  REQUIRE(inserted == 3);
  REQUIRE(tables[0]->info().items == 1);
  REQUIRE(tables[1]->info().items == 2);
  REQUIRE(tables[0]->info().bytes == 2 * testing::kSmallRowBytes);
  REQUIRE(tables[1]->info().bytes == 2 * testing::kSmallRowBytes);
  tables[0]->Clear();
  REQUIRE(tables[0]->info().bytes == 0);
  REQUIRE(tables[1]->info().bytes == 2 * testing::kSmallRowBytes);
}

TEST_CASE("closing a table ends its writers with a reason", "[unit]") {
  TableConfig config = Fixture::Config();
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.error_buffer = 1;
  Fixture f(config);
  std::vector<absl::StatusCode> codes;
  const auto insert = [&](uint64_t sequence, InsertBlock block) {
    f.session->Insert(sequence, std::move(block),
                      [&codes](const auto& result) { codes.push_back(result.status().code()); });
  };
  insert(1, Block({{0, 0, 4}}, {Item(0, 0, 1), Item(0, 1, 1), Item(0, 2, 1)}));
  insert(2, Block({{0, 4, 1}}, {}));
  REQUIRE(codes.empty());
  f.table->Close();
  insert(3, Block({{0, 5, 1}}, {}));
  REQUIRE(codes == std::vector<absl::StatusCode>(3, absl::StatusCode::kCancelled));
  REQUIRE(f.session->applied_sequence() == 0);
}

}  // namespace waggle
