#include "replay_server/writers/writer_session.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/failpoint.h"
#include "tests/replay_server/table/held_log.h"
#include "tests/replay_server/writers/writer_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::writers::Block;
using testing::writers::Fixture;
using testing::writers::Item;

}  // namespace

TEST_CASE("windows over rows that the server lacks are counted, not refused", "[unit]") {
  Fixture f;
  // A restarted server gets a stream from the middle.
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

TEST_CASE("a block is applied and counted once, in order", "[unit]") {
  Fixture f;
  const InsertBlock first = Block({{0, 0, 2}}, {Item(0, 0, 2), Item(9, 0, 1)});  // Stream 9 has no rows.
  REQUIRE(testing::ValueOf(f.Insert(1, first)).items_inserted == 1);
  REQUIRE(testing::ValueOf(f.Insert(1, first)).items_inserted == 0);
  REQUIRE_CODE(f.Insert(3, Block({{0, 2, 2}}, {})), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(f.Insert(0, Block({{0, 2, 2}}, {})), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(f.Insert(2, Block({{0, 2, 2}}, {})));
  REQUIRE(f.session->progress().sequence == 2);
  REQUIRE(f.session->progress().items.items_inserted == 1);
  REQUIRE(f.session->progress().items.items_without_rows == 1);
  REQUIRE(f.table->info().items == 1);
}

TEST_CASE("blocks that wait for room are answered in order, each once, to its last sender", "[unit]") {
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
  REQUIRE(answers == std::vector<std::pair<int, uint64_t>>{{1, 3}, {3, 1}});
  REQUIRE(f.table->info().items_inserted == 4);
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
  const int64_t bytes = tables[0]->info().bytes;
  REQUIRE(bytes >= 2 * testing::kSmallRowBytes);
  REQUIRE(tables[1]->info().bytes == bytes);
  tables[0]->Clear();
  REQUIRE(tables[0]->info().bytes == 0);
  REQUIRE(tables[1]->info().bytes == bytes);
}

TEST_CASE("closing a table cancels its writers", "[unit]") {
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

#ifdef WAGGLE_FAILPOINTS_ENABLED
TEST_CASE("blocks enter the tables in order, also if the first one's thread is slow", "[unit]") {
  Fixture fixture;
  REQUIRE_OK(SetFailpoints("writer.taken_in=hold@1"));
  const auto ignore = [](const absl::StatusOr<WriterSession::Result>& /*result*/) {};
  std::thread slow([&] { fixture.session->Insert(1, Block({{0, 0, 2}}, {Item(0, 0, 1), Item(0, 1, 1)}), ignore); });
  while (fixture.session->held_bytes() == 0) {
    std::this_thread::yield();
  }
  fixture.session->Insert(2, Block({{0, 2, 1}}, {Item(0, 2, 1)}), ignore);
  REQUIRE_OK(SetFailpoints(""));
  slow.join();
  REQUIRE(fixture.session->applied_sequence() == 2);
  std::vector<ItemFacts> items;
  uint32_t slot = 0;
  while (fixture.table->Scan(&slot, &items)) {
  }
  REQUIRE(items.size() == 3);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto held = fixture.table->Hold(items[i].key);
    REQUIRE(testing::FirstId(held->window) == static_cast<int64_t>(i));
    REQUIRE(items[i].generation == items[0].generation + i);
  }
}
#endif

TEST_CASE("a block that waits for its writer's record is answered by the log, or is cancelled", "[unit]") {
  testing::HeldLog log;
  TableConfig logged = Fixture::Config();
  logged.name = "logged";
  logged.durability = Durability::kLog;
  const auto other = testing::ValueOf(Table::Create(Fixture::Config(), 1));
  const auto session = std::make_shared<WriterSession>(
      std::vector<std::shared_ptr<Table>>{testing::ValueOf(Table::Create(logged, 1, nullptr, &log)), other},
      logged.signature, WriterSessionOptions(), "", &log);
  log.Hold();
  int answers = 0;
  absl::StatusOr<WriterSession::Result> answer;
  session->Insert(1, Block({{0, 0, 1}}, {Item(0, 0, 1)}), [&](auto result) {
    answer = std::move(result);
    ++answers;
  });
  REQUIRE(log.AnswerAll(absl::OkStatus()) == 1);  // The table's; the writer's record lacks the block.
  REQUIRE(answers == 0);
  SECTION("the log does not know the table any more") {
    REQUIRE(log.AnswerAll(absl::OkStatus()) == 1);
    REQUIRE(answers == 1);
    REQUIRE_CODE(answer, absl::StatusCode::kCancelled);
  }
  SECTION("the record is written") {
    session->SetWritten(1, 0);
    REQUIRE(log.AnswerAll(absl::OkStatus()) == 1);
    REQUIRE(answers == 1);
    REQUIRE_OK(answer);
  }
  SECTION("the disk fails") {
    REQUIRE(log.AnswerAll(absl::UnavailableError("no space")) == 1);
    REQUIRE(answers == 1);
    REQUIRE_CODE(answer, absl::StatusCode::kUnavailable);
  }
  CHECK(log.AnswerAll(absl::OkStatus()) == 0);
}

TEST_CASE("the log forgets a writer that leaves", "[unit]") {
  testing::HeldLog log;
  TableConfig config = Fixture::Config();
  config.durability = Durability::kLog;
  Fixture f(config, {}, &log);
  REQUIRE_OK(f.Insert(1, Block({{0, 0, 2}}, {Item(0, 0, 2)})));
  const uint64_t number = f.session->number();
  f.session = nullptr;
  REQUIRE(log.forgotten() == std::vector<uint64_t>{number});
}

}  // namespace waggle
