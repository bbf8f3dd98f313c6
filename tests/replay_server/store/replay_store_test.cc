#include "replay_server/store/replay_store.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/reason.h"
#include "common/base/threads/thread.h"
#include "tests/replay_server/table/held_log.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/stuck_stream.h"

namespace waggle {
namespace {

using testing::SmallTable;

TableConfig Named(const std::string& name) {
  TableConfig config = SmallTable();
  config.name = name;
  return config;
}

// A saved table.
SavedTable OneSaved() {
  SavedTable saved;
  saved.number = 1;
  saved.created = SmallTable();
  saved.created.durability = Durability::kLog;
  saved.config = saved.created;
  return saved;
}

SavedWriter OneSavedWriter(const std::string& table, uint64_t sequence, uint64_t incarnation = 0) {
  SavedWriter saved;
  saved.number = 17;
  saved.id = "saved";
  saved.incarnation = incarnation;
  saved.tables = {table};
  saved.signature = SmallTable().signature;
  saved.codecs.resize(saved.signature.size(), Codec::kNone);
  saved.sequence = sequence;
  return saved;
}

}  // namespace

TEST_CASE("a stuck log does not block the store", "[unit]") {
  testing::HeldLog log;
  ReplayStore store(ReplayStoreOptions{}, &log);
  REQUIRE_OK(store.Restore({OneSaved()}, {}));
  TableConfig other = OneSaved().config;
  other.max_items = 7;
  testing::StuckStream stuck(STDERR_FILENO);
  absl::Status created;
  Thread creating("creating", [&] { created = store.CreateTable(other, SavedPolicy::kReplace).status(); });
  testing::Eventually("the table",
                      [&] { return testing::ValueOf(store.FindTable("small"))->created().max_items == 7; });
  stuck.LetGo();
  creating.Join();
  REQUIRE_OK(created);
}

TEST_CASE("a replaced table is freed, also if it is still referred to", "[unit]") {
  testing::HeldLog log;
  ReplayStore store(ReplayStoreOptions{}, &log);
  SavedTable saved = OneSaved();
  const std::vector<ChunkRef> rows = testing::MakeRows(0, 0, {1});
  saved.counters.inserted = 1;
  saved.items.emplace_back();
  saved.items.back().generation = 7;
  saved.items.back().rows = 1;
  saved.items.back().chunks.push_back(rows.front());
  std::vector<SavedTable> tables;
  tables.push_back(saved);
  REQUIRE_OK(store.Restore(std::move(tables), {}));
  saved.items.clear();
  const std::shared_ptr<Table> before = testing::ValueOf(store.FindTable("small"));
  REQUIRE(before->info().items == 1);
  TableConfig other = saved.config;
  other.max_items = 7;
  REQUIRE(testing::ValueOf(store.CreateTable(other, SavedPolicy::kReplace)));
  CHECK(before->info().items == 0);
  CHECK(before->changed_slots() == 0);
  CHECK(*rows.front()->pins(0) == 0);
  before->Insert({testing::OneRow(1)}, [](const absl::Status& status) { CHECK(absl::IsCancelled(status)); });
}

TEST_CASE("the tables of an experiment together are bounded in bytes", "[unit]") {
  ReplayStoreOptions options;
  options.max_experiment_bytes = 150 * testing::kSmallRowBytes;
  ReplayStore store(options);
  const auto of_items = [](const std::string& name, int64_t items) {
    TableConfig config = Named(name);
    config.max_window = 1;
    config.max_items = items;
    return config;
  };
  REQUIRE_OK(store.CreateTable(of_items("first-1/a", 100)));
  CHECK(ReasonOf(store.CreateTable(of_items("first-1/b", 100)).status()) == "experiment_too_large");
  REQUIRE_OK(store.CreateTable(of_items("first-1/b", 50)));
  CHECK(ReasonOf(store.Reconfigure(of_items("first-1/b", 51), 1, false).status()) == "experiment_too_large");
  REQUIRE_OK(store.CreateTable(of_items("first-1/a", 100)));  // It exists.
  REQUIRE_OK(store.CreateTable(of_items("second-2/a", 100)));
  REQUIRE_OK(store.CreateTable(of_items("a", 1000)));
  CHECK(store.DropExperiment("first-1") == 2);
  REQUIRE_OK(store.CreateTable(of_items("first-1/b", 100)));
}

TEST_CASE("dropping an experiment drops its tables and their writers, and no others", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  const auto signature = SmallTable().signature;
  for (const char* const name : {"a", "first-1/a", "first-1/b", "first-10/a", "second-2/a"}) {
    REQUIRE_OK(store.CreateTable(Named(name)));
  }
  CHECK(store.Experiments() == std::vector<std::string>{"first-1", "first-10", "second-2"});
  const auto dropped = testing::ValueOf(store.FindTable("first-1/a"));
  auto connected = testing::ValueOf(store.OpenWriter("connected", {"first-1/a", "first-1/b"}, signature));
  const std::weak_ptr<WriterSession> away = testing::ValueOf(store.OpenWriter("away", {"first-1/a"}, signature));
  const std::weak_ptr<WriterSession> others = testing::ValueOf(store.OpenWriter("others", {"a"}, signature));
  CHECK(store.WritersOf("first-1").writers == 2);
  absl::Status waited;
  dropped->Sample(
      std::make_shared<const BatchLayout>(testing::ValueOf(MakeBatchLayout(*dropped->config(), 1, 1'000'000))), 1,
      [&waited](const auto& drawn) { waited = drawn.status(); });
  CHECK(store.DropExperiment("first-1") == 2);
  CHECK(absl::IsCancelled(waited));
  CHECK(away.expired());
  CHECK_FALSE(others.expired());
  CHECK(store.Experiments() == std::vector<std::string>{"first-10", "second-2"});
  REQUIRE_CODE(store.FindTable("first-1/a"), absl::StatusCode::kNotFound);
  REQUIRE_CODE(store.OpenWriter("connected", {"first-1/a", "first-1/b"}, signature), absl::StatusCode::kNotFound);
  REQUIRE_OK(store.FindTable("a"));
  CHECK(store.DropExperiment("first-1") == 0);
  CHECK(store.DropExperiment("") == 0);
  REQUIRE(testing::ValueOf(store.OpenWriter("others", {"a"}, signature)) == others.lock());
  // New tables have nothing of the old ones.
  REQUIRE_OK(store.CreateTable(Named("first-1/a")));
  REQUIRE_OK(store.CreateTable(Named("first-1/b")));
  CHECK(testing::ValueOf(store.OpenWriter("connected", {"first-1/a", "first-1/b"}, signature)) != connected);
}

TEST_CASE("options that leave no room for a table or a writer are refused", "[unit]") {
  REQUIRE_OK(ReplayStoreOptions().Validate());
  for (int option = 0; option < 7; ++option) {
    ReplayStoreOptions options;
    option == 0   ? options.max_tables = 0
    : option == 1 ? options.max_bytes = 0
    : option == 2 ? options.max_experiment_bytes = 0
    : option == 3 ? options.known_writers.max_writers = 0
    : option == 4 ? options.known_writers.max_forgotten_writers = -1
    : option == 5 ? options.writer.max_block_bytes = 0
                  : options.writer.max_block_references = 0;
    CAPTURE(option);
    CHECK(options.Validate().code() == absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("the writer that was away longest is forgotten if there are too many", "[unit]") {
  ReplayStoreOptions options;
  options.known_writers.max_writers = 3;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  const auto signature = SmallTable().signature;
  const auto in_use = testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature));
  std::weak_ptr<WriterSession> first = testing::ValueOf(store.OpenWriter("first", {"a"}, signature));
  std::weak_ptr<WriterSession> second = testing::ValueOf(store.OpenWriter("second", {"a"}, signature));
  REQUIRE_OK(store.OpenWriter("first", {"a"}, signature));  // Now the second one was away longest.
  REQUIRE_OK(store.OpenWriter("third", {"a"}, signature));
  REQUIRE(second.expired());
  REQUIRE_FALSE(first.expired());
  REQUIRE(testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature)) == in_use);
}

TEST_CASE("a refused writer does not make the store forget another one, or its own saved progress", "[unit]") {
  ReplayStoreOptions options;
  options.known_writers.max_writers = 1;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  REQUIRE_OK(store.CreateTable(Named("b")));
  const auto signature = SmallTable().signature;
  REQUIRE_OK(store.Restore({}, {OneSavedWriter("a", 5)}));
  auto in_use = testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature));
  const std::weak_ptr<WriterSession> away = in_use;
  REQUIRE(ReasonOf(store.OpenWriter("other", {"a"}, signature).status()) == "too_many_writers");
  REQUIRE(ReasonOf(store.OpenWriter("saved", {"a"}, signature).status()) == "too_many_writers");
  REQUIRE(testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature)) == in_use);
  in_use = nullptr;
  REQUIRE(ReasonOf(store.OpenWriter("saved", {"b"}, signature).status()) == "other_writer");
  REQUIRE_FALSE(away.expired());
  REQUIRE(testing::ValueOf(store.OpenWriter("saved", {"a"}, signature))->applied_sequence() == 5);
  REQUIRE(away.expired());
}

namespace {

// A block of `rows` rows of one stream, all 0.
InsertBlock Zeros(uint32_t rows) {
  InsertBlock block;
  block.chunks = {{0, 0, rows}};
  const size_t size = rows * static_cast<size_t>(testing::kSmallRowBytes);
  const std::shared_ptr<char> bytes = AllocateBytes(size);
  std::memset(bytes.get(), 0, size);
  block.data.Append({bytes.get(), size, bytes});
  return block;
}

// A store with a table, and its writers, each with one block of one stream.
struct Crowd {
  explicit Crowd(ReplayStoreOptions options, int64_t max_window = 1) : store(options) {
    config.max_window = max_window;
    REQUIRE_OK(store.CreateTable(config));
  }
  std::shared_ptr<WriterSession> Open(const std::string& name) {
    return testing::ValueOf(store.OpenWriter(name, {config.name}, config.signature));
  }
  // Forgets the writers that are away.
  void Forget() {
    store.TendWriters(absl::UnixEpoch());
    store.TendWriters(absl::UnixEpoch() + absl::Minutes(31));
  }
  std::shared_ptr<WriterSession> Write(const std::string& name, uint32_t rows) {
    const auto session = Open(name);
    session->Insert(1, Zeros(rows), [](const auto& result) { WAGGLE_CHECK(result.ok(), "the block is right"); });
    return session;
  }

  TableConfig config = SmallTable();
  ReplayStore store;
};

}  // namespace

TEST_CASE("writers that are away are forgotten once they hold too much", "[unit]") {
  ReplayStoreOptions options;
  options.known_writers.max_idle_writer_bytes = 500'000;
  Crowd crowd(options, 1000);
  const auto in_use = crowd.Write("in-use", 20'000);
  for (int i = 0; i < 100; ++i) {
    crowd.Write(std::to_string(i), 1000);
    const auto info = crowd.store.writer_info();
    CAPTURE(i, info.writers, info.held_bytes);
    REQUIRE(info.held_bytes < options.known_writers.max_idle_writer_bytes + in_use->held_bytes() + 2 * 16'000);
  }
  REQUIRE(crowd.Open("in-use") == in_use);
  REQUIRE(crowd.Open("99")->applied_sequence() == 1);
  REQUIRE(crowd.Open("0")->applied_sequence() == 0);
}

TEST_CASE("the newest rows of all writers together are bounded, and forgotten writers make room", "[unit]") {
  constexpr int64_t kRows = 1000;
  ReplayStoreOptions options;
  options.max_writer_bytes = 10 * (kRows * testing::kSmallRowBytes + 1024);
  options.known_writers.max_writers = 11;
  Crowd crowd(options, kRows);
  std::vector<std::shared_ptr<WriterSession>> writers;
  for (int i = 0; i < 10; ++i) {
    writers.push_back(crowd.Write(std::to_string(i), kRows));
  }
  const auto last = crowd.Open("last");
  absl::Status status;
  const auto insert = [&](uint32_t rows) {
    last->Insert(1, Zeros(rows), [&status](const auto& result) { status = result.status(); });
  };
  insert(1);
  REQUIRE_CODE(status, absl::StatusCode::kResourceExhausted);
  CHECK(ReasonOf(status) == "writers_too_large");
  // A writer with as many rows as a window can have needs no more.
  InsertBlock more = Zeros(kRows);
  more.chunks.front().first_row = kRows;
  writers[0]->Insert(2, std::move(more), [](const auto& result) { REQUIRE_OK(result); });
  writers.pop_back();
  crowd.Forget();
  REQUIRE(crowd.store.writer_info().writers == 10);
  insert(kRows + 1);
  REQUIRE_OK(status);
}

TEST_CASE("if the newest rows of all writers are many, no writer keeps more than twice its need", "[unit]") {
  constexpr int64_t kRows = 10'000;
  ReplayStoreOptions options;
  options.max_writer_bytes = 20'000;
  Crowd crowd(options);
  std::vector<std::shared_ptr<WriterSession>> writers;
  for (int i = 0; i < 10; ++i) {
    writers.push_back(crowd.Write(std::to_string(i), kRows));
    CHECK(crowd.store.writer_info().held_bytes < 20'000 + kRows * testing::kSmallRowBytes);
  }
}

TEST_CASE("a writer that is away holds little, and is forgotten after half an hour", "[unit]") {
  Crowd crowd{ReplayStoreOptions()};
  auto session = crowd.Write("w", 20'000);
  const absl::Time start = absl::UnixEpoch();
  crowd.store.TendWriters(start);
  REQUIRE(crowd.store.writer_info().held_bytes > 20'000 * testing::kSmallRowBytes);
  session = nullptr;
  crowd.store.TendWriters(start + absl::Hours(10));
  REQUIRE(crowd.store.writer_info().writers == 1);
  REQUIRE(crowd.store.writer_info().held_bytes < 10'000);
  // The time counts from its last visit.
  session = crowd.Open("w");
  REQUIRE(session->applied_sequence() == 1);
  crowd.store.TendWriters(start + absl::Hours(20));
  session = nullptr;
  crowd.store.TendWriters(start + absl::Hours(30));
  crowd.store.TendWriters(start + absl::Hours(30) + absl::Minutes(29));
  REQUIRE(crowd.store.writer_info().writers == 1);
  crowd.store.TendWriters(start + absl::Hours(30) + absl::Minutes(31));
  REQUIRE(crowd.store.writer_info().writers == 0);
  REQUIRE(crowd.store.writer_info().held_bytes == 0);
}

TEST_CASE("a forgotten writer continues after its last block, unless it is another incarnation", "[unit]") {
  Crowd crowd(ReplayStoreOptions(), /*max_window=*/2);
  const auto open = [&crowd](uint64_t incarnation) {
    auto session =
        testing::ValueOf(crowd.store.OpenWriter("w", {crowd.config.name}, crowd.config.signature, incarnation));
    REQUIRE_OK(session->Claim(incarnation));
    return session;
  };
  const auto forget = [&crowd] {
    crowd.Forget();
    REQUIRE(crowd.store.writer_info().writers == 0);
    crowd.store.TendWriters(absl::UnixEpoch());
  };
  const auto insert = [](WriterSession* session, uint64_t sequence, InsertBlock block) {
    absl::Status inserted = absl::UnknownError("not answered");
    session->Insert(sequence, std::move(block), [&inserted](const auto& result) { inserted = result.status(); });
    REQUIRE_OK(inserted);
  };
  InsertBlock block = Zeros(10);
  block.items = {{0, 0, 9, 1, 1.0}};
  insert(open(7).get(), 1, block);
  forget();
  {
    const auto session = open(7);
    REQUIRE(session->progress().sequence == 1);
    REQUIRE(session->progress().items.items_inserted == 1);
    insert(session.get(), 1, block);  // Its acknowledgement was lost.
    InsertBlock next = Zeros(10);
    next.chunks[0].first_row = 10;
    next.items = {{0, 0, 9, 2, 1.0}, {0, 0, 10, 2, 1.0}};  // The first row of the first item is gone.
    insert(session.get(), 2, next);
    REQUIRE(testing::ValueOf(crowd.store.FindTable(crowd.config.name))->info().items_inserted == 2);
    REQUIRE(session->progress().items.items_without_rows == 1);
  }
  forget();
  REQUIRE(open(8)->progress().sequence == 0);  // A new process with the same name.
  forget();
  REQUIRE(open(7)->progress().sequence == 2);
}

TEST_CASE("a writer continues where it was, whether it was saved or forgotten", "[unit]") {
  const bool was_saved = GENERATE(true, false);
  testing::HeldLog log;
  ReplayStore store(ReplayStoreOptions{}, &log);
  const auto open = [&store] {
    return testing::ValueOf(store.OpenWriter("saved", {"small"}, SmallTable().signature, 7));
  };
  if (was_saved) {
    REQUIRE_OK(store.Restore({OneSaved()}, {OneSavedWriter("small", 1, 7)}));
  } else {
    REQUIRE_OK(store.CreateTable(SmallTable()));
    {
      const auto session = open();
      REQUIRE_OK(session->Claim(7));
      session->Insert(1, InsertBlock(), [](const auto& /*result*/) {});
    }
    store.TendWriters(absl::UnixEpoch());
    store.TendWriters(absl::UnixEpoch() + absl::Minutes(31));
  }
  REQUIRE(log.forgotten().empty());
  const auto session = open();
  REQUIRE(session->applied_sequence() == 1);
  REQUIRE(session->incarnation() == 7);
  // The table of the forgotten writer is not logged, so its number is not needed.
  REQUIRE(log.forgotten().size() == (was_saved ? 0 : 1));
  REQUIRE(store.writer_info().writers == 1);
}

}  // namespace waggle
