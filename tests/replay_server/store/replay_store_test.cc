#include "replay_server/store/replay_store.h"

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/check.h"
#include "common/base/reason.h"
#include "common/base/threads/thread.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/replay_server/table/held_log.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/stuck_stream.h"

namespace waggle {
namespace {

using testing::SmallTable;

TableConfig Named(const std::string& name) {
  TableConfig config = SmallTable();
  config.name = name;
  return config;
}

}  // namespace

TEST_CASE("creating a table twice succeeds if it is the same and says what differs if not", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE(testing::ValueOf(store.CreateTable(SmallTable())));
  REQUIRE_FALSE(testing::ValueOf(store.CreateTable(SmallTable())));
  TableConfig other = SmallTable();
  other.max_items = 101;
  other.rate_limiter.min_items = 3;
  const absl::Status status = store.CreateTable(other).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(status.message(), "max_items: 100 and 101"));
  REQUIRE(absl::StrContains(status.message(), "min_items: 1 and 3"));
  other.name = "";
  REQUIRE_CODE(store.CreateTable(other), absl::StatusCode::kInvalidArgument);
}

namespace {

// One that a store is given back.
SavedTable OneSaved() {
  SavedTable saved;
  saved.number = 1;
  saved.created = SmallTable();
  saved.created.durability = Durability::kLog;
  saved.config = saved.created;
  return saved;
}

}  // namespace

TEST_CASE("whoever reads what a store logs holds nobody else up", "[unit]") {
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

TEST_CASE("a table that another one takes the place of is freed by then, whoever still has it", "[unit]") {
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

TEST_CASE("a store has only so many tables", "[unit]") {
  ReplayStoreOptions options;
  options.max_tables = 2;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  REQUIRE_OK(store.CreateTable(Named("b")));
  REQUIRE_CODE(store.CreateTable(Named("c")), absl::StatusCode::kResourceExhausted);
  REQUIRE(store.tables().size() == 2);
}

TEST_CASE("a table that could never be full in the memory there is is neither made nor changed to", "[unit]") {
  ReplayStoreOptions options;
  options.max_bytes = 100 * (testing::kSmallRowBytes + 32);
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));  // Of 100 items.
  TableConfig large = Named("b");
  large.max_items = 101;
  const absl::Status refused = store.CreateTable(large).status();
  REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
  REQUIRE(ReasonOf(refused) == "table_too_large");
  REQUIRE(absl::StrContains(refused.message(), "max_items, 101, and max_bytes, 1073741824, let it take at least 4848"));
  REQUIRE(absl::StrContains(refused.message(), "; max_items of up to 100 would fit"));
  large.name = "a";
  REQUIRE(ReasonOf(store.Reconfigure(large, 1, false).status()) == "table_too_large");
  large.max_items = int64_t{1} << 31;
  large.max_bytes = std::numeric_limits<int64_t>::max();
  REQUIRE(ReasonOf(store.Reconfigure(large, 1, false).status()) == "table_too_large");
  // It may be full of bytes before it is full of items.
  large.max_bytes = 100 * testing::kSmallRowBytes;
  REQUIRE_OK(store.Reconfigure(large, 1, false));
}

TEST_CASE("an experiment's tables together have only so many bytes, and others as many again", "[unit]") {
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
  const absl::Status refused = store.CreateTable(of_items("first-1/b", 100)).status();
  REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
  CHECK(ReasonOf(refused) == "experiment_too_large");
  CHECK(absl::StrContains(refused.message(), absl::StrCat(100 * testing::kSmallRowBytes, " bytes")));
  CHECK(absl::StrContains(refused.message(), absl::StrCat(options.max_experiment_bytes, " bytes")));
  REQUIRE_OK(store.CreateTable(of_items("first-1/b", 50)));
  CHECK(ReasonOf(store.Reconfigure(of_items("first-1/b", 51), 1, false).status()) == "experiment_too_large");
  REQUIRE_OK(store.CreateTable(of_items("first-1/a", 100)));  // It is there.
  REQUIRE_OK(store.CreateTable(of_items("second-2/a", 100)));
  REQUIRE_OK(store.CreateTable(of_items("a", 1000)));
  CHECK(store.DropExperiment("first-1") == 2);
  REQUIRE_OK(store.CreateTable(of_items("first-1/b", 100)));
}

TEST_CASE("an experiment's tables are dropped with their writers, and no others", "[unit]") {
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
  // Made again, they have nothing of the old ones.
  REQUIRE_OK(store.CreateTable(Named("first-1/a")));
  REQUIRE_OK(store.CreateTable(Named("first-1/b")));
  CHECK(testing::ValueOf(store.OpenWriter("connected", {"first-1/a", "first-1/b"}, signature)) != connected);
}

TEST_CASE("a table whose max_bytes is less than a row has is neither made nor changed to", "[unit]") {
  ReplayStore store({});
  TableConfig config = Named("a");
  config.max_bytes = testing::kSmallRowBytes - 1;
  const absl::Status refused = store.CreateTable(config).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  REQUIRE(ReasonOf(refused) == "bad_configuration");
  REQUIRE(absl::StrContains(refused.message(),
                            absl::StrCat("table \"a\": max_bytes: ", config.max_bytes, " is less than one row has, ",
                                         testing::kSmallRowBytes, " bytes")));
  config.max_bytes = testing::kSmallRowBytes;
  REQUIRE_OK(store.CreateTable(config));
  config.max_bytes -= 1;
  REQUIRE_CODE(store.Reconfigure(config, 1, false).status(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("an unknown table is not found, with the tables that there are", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE_CODE(store.FindTable("replay"), absl::StatusCode::kNotFound);
  REQUIRE_OK(store.CreateTable(Named("replay")));
  REQUIRE(testing::ValueOf(store.FindTable("replay"))->name() == "replay");
  const absl::Status status = store.FindTable("reply").status();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  REQUIRE(absl::StrContains(status.message(), "did you mean \"replay\""));
}

TEST_CASE("a writer that comes back finds its session", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE_OK(store.CreateTable(Named("a")));
  REQUIRE_OK(store.CreateTable(Named("b")));
  const auto signature = SmallTable().signature;
  const auto session = testing::ValueOf(store.OpenWriter("actor-1", {"a", "b"}, signature));
  REQUIRE(testing::ValueOf(store.OpenWriter("actor-1", {"a", "b"}, signature)) == session);
  REQUIRE(testing::ValueOf(store.OpenWriter("actor-2", {"a", "b"}, signature)) != session);
  REQUIRE_CODE(store.OpenWriter("actor-1", {"a"}, signature), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(store.OpenWriter("actor-3", {"a", "c"}, signature), absl::StatusCode::kNotFound);
  REQUIRE_CODE(store.OpenWriter("actor-3", {"a", "a"}, signature), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(store.OpenWriter("actor-3", {}, signature), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(store.OpenWriter("", {"a"}, signature), absl::StatusCode::kInvalidArgument);
  auto other_signature = signature;
  other_signature[0].dtype = DType::kFloat32;
  const absl::Status differs = store.OpenWriter("actor-3", {"a"}, other_signature).status();
  REQUIRE_CODE(differs, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(differs.message(), "id: float32[]"));
  REQUIRE(absl::StrContains(differs.message(), "id: int64[]"));
}

TEST_CASE("options that leave no room for a table or a writer are refused", "[unit]") {
  REQUIRE_OK(ReplayStoreOptions().Validate());
  const auto refused = [](const std::function<void(ReplayStoreOptions*)>& set) {
    ReplayStoreOptions options;
    set(&options);
    return options.Validate().code() == absl::StatusCode::kInvalidArgument;
  };
  CHECK(refused([](ReplayStoreOptions* options) { options->max_tables = 0; }));
  CHECK(refused([](ReplayStoreOptions* options) { options->max_bytes = 0; }));
  CHECK(refused([](ReplayStoreOptions* options) { options->max_experiment_bytes = 0; }));
  CHECK(refused([](ReplayStoreOptions* options) { options->known_writers.max_writers = 0; }));
  CHECK(refused([](ReplayStoreOptions* options) { options->known_writers.max_forgotten_writers = -1; }));
  CHECK(refused([](ReplayStoreOptions* options) { options->writer.max_block_bytes = 0; }));
  CHECK(refused([](ReplayStoreOptions* options) { options->writer.max_block_references = 0; }));
}

TEST_CASE("of too many writers one that is away is forgotten, longest ago first", "[unit]") {
  ReplayStoreOptions options;
  options.known_writers.max_writers = 3;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  const auto signature = SmallTable().signature;
  const auto in_use = testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature));
  std::weak_ptr<WriterSession> first = testing::ValueOf(store.OpenWriter("first", {"a"}, signature));
  std::weak_ptr<WriterSession> second = testing::ValueOf(store.OpenWriter("second", {"a"}, signature));
  REQUIRE_OK(store.OpenWriter("first", {"a"}, signature));  // Now the second was away longest.
  REQUIRE_OK(store.OpenWriter("third", {"a"}, signature));
  REQUIRE(second.expired());
  REQUIRE_FALSE(first.expired());
  REQUIRE(testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature)) == in_use);
}

TEST_CASE("where all writers are connected one more is refused, and none is forgotten", "[unit]") {
  ReplayStoreOptions options;
  options.known_writers.max_writers = 1;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  const auto signature = SmallTable().signature;
  auto in_use = testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature));
  const absl::Status refused = store.OpenWriter("other", {"a"}, signature).status();
  REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
  REQUIRE(ReasonOf(refused) == "too_many_writers");
  REQUIRE(testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature)) == in_use);
  // Nor is what was saved of the one that is refused.
  SavedWriter saved;
  saved.id = "saved";
  saved.tables = {"a"};
  saved.signature = signature;
  saved.codecs.resize(signature.size(), Codec::kNone);
  saved.sequence = 5;
  REQUIRE_OK(store.Restore({}, {saved}));
  REQUIRE(ReasonOf(store.OpenWriter("saved", {"a"}, signature).status()) == "too_many_writers");
  in_use = nullptr;
  REQUIRE(testing::ValueOf(store.OpenWriter("saved", {"a"}, signature))->applied_sequence() == 5);
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

// A store of a table, and writers that each send one block of a stream and go.
struct Crowd {
  explicit Crowd(ReplayStoreOptions options, int64_t max_window = 1) : store(options) {
    config.max_window = max_window;
    REQUIRE_OK(store.CreateTable(config));
  }
  std::shared_ptr<WriterSession> Open(const std::string& name) {
    return testing::ValueOf(store.OpenWriter(name, {config.name}, config.signature));
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

TEST_CASE("nobody is forgotten for a writer that is refused", "[unit]") {
  ReplayStoreOptions options;
  options.known_writers.max_writers = 1;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  REQUIRE_OK(store.CreateTable(Named("b")));
  const auto signature = SmallTable().signature;
  SavedWriter saved;
  saved.id = "saved";
  saved.tables = {"a"};
  saved.signature = signature;
  saved.codecs.resize(signature.size(), Codec::kNone);
  REQUIRE_OK(store.Restore({}, {saved}));
  const std::weak_ptr<WriterSession> away = testing::ValueOf(store.OpenWriter("away", {"a"}, signature));
  REQUIRE(ReasonOf(store.OpenWriter("saved", {"b"}, signature).status()) == "other_writer");
  REQUIRE_FALSE(away.expired());
  REQUIRE_OK(store.OpenWriter("saved", {"a"}, signature));
  REQUIRE(away.expired());
}

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

TEST_CASE("the newest rows of all writers together are bounded, and those of whoever is forgotten make room",
          "[unit]") {
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
  CHECK_THAT(std::string(status.message()), Catch::Contains("this server has 170240 for them"));
  // Whoever has as many rows as there can be in a window needs no more.
  InsertBlock more = Zeros(kRows);
  more.chunks.front().first_row = kRows;
  writers[0]->Insert(2, std::move(more), [](const auto& result) { REQUIRE_OK(result); });
  writers.pop_back();
  crowd.store.TendWriters(absl::UnixEpoch());
  crowd.store.TendWriters(absl::UnixEpoch() + absl::Hours(1));
  REQUIRE(crowd.store.writer_info().writers == 10);
  insert(kRows + 1);
  REQUIRE_OK(status);
}

TEST_CASE("where the newest rows of all writers are many, none keeps more than twice what it needs", "[unit]") {
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

TEST_CASE("a writer that goes away holds little, and is forgotten after a while", "[unit]") {
  Crowd crowd{ReplayStoreOptions()};
  auto session = crowd.Write("w", 20'000);
  const absl::Time start = absl::UnixEpoch();
  crowd.store.TendWriters(start);
  REQUIRE(crowd.store.writer_info().held_bytes > 20'000 * testing::kSmallRowBytes);
  session = nullptr;
  crowd.store.TendWriters(start + absl::Hours(10));
  REQUIRE(crowd.store.writer_info().writers == 1);
  REQUIRE(crowd.store.writer_info().held_bytes < 10'000);
  // Time counts from when it was last seen.
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

TEST_CASE("a writer that was forgotten goes on behind its last block, unless it is another one by now", "[unit]") {
  Crowd crowd(ReplayStoreOptions(), /*max_window=*/2);
  const auto open = [&crowd](uint64_t incarnation) {
    auto session =
        testing::ValueOf(crowd.store.OpenWriter("w", {crowd.config.name}, crowd.config.signature, incarnation));
    REQUIRE_OK(session->Claim(incarnation));
    return session;
  };
  const auto forget = [&crowd] {
    crowd.store.TendWriters(absl::UnixEpoch());
    crowd.store.TendWriters(absl::UnixEpoch() + absl::Minutes(31));
    REQUIRE(crowd.store.writer_info().writers == 0);
    crowd.store.TendWriters(absl::UnixEpoch());
  };
  const auto items = [&crowd] {
    return testing::ValueOf(crowd.store.FindTable(crowd.config.name))->info().items_inserted;
  };
  const auto insert = [](WriterSession* session, uint64_t sequence, InsertBlock block) {
    absl::Status inserted = absl::UnknownError("not answered");
    session->Insert(sequence, std::move(block), [&inserted](const auto& result) { inserted = result.status(); });
    return inserted;
  };
  InsertBlock block = Zeros(10);
  block.items = {{0, 0, 9, 1, 1.0}};
  {
    const auto session = open(7);
    REQUIRE_OK(insert(session.get(), 1, block));
  }
  forget();
  {
    const auto session = open(7);
    REQUIRE(session->progress().sequence == 1);
    REQUIRE(session->progress().items.items_inserted == 1);
    REQUIRE_OK(insert(session.get(), 1, block));  // It had not heard that it was in.
    REQUIRE(items() == 1);
    InsertBlock next = Zeros(10);
    next.chunks[0].first_row = 10;
    next.items = {{0, 0, 9, 2, 1.0}, {0, 0, 10, 2, 1.0}};  // The first one's first row is gone.
    REQUIRE_OK(insert(session.get(), 2, next));
    REQUIRE(items() == 2);
    REQUIRE(session->progress().items.items_without_rows == 1);
  }
  forget();
  REQUIRE(open(8)->progress().sequence == 0);  // Its process was started anew under the same name.
  forget();
  REQUIRE(open(7)->progress().sequence == 2);  // Both are known, each by its incarnation.
}

TEST_CASE("a writer that comes back goes on where it was, whether it was saved or forgotten", "[unit]") {
  const bool was_saved = GENERATE(true, false);
  testing::HeldLog log;
  ReplayStore store(ReplayStoreOptions{}, &log);
  const auto signature = SmallTable().signature;
  const std::string id = "w";
  if (was_saved) {
    SavedWriter saved;
    saved.number = 17;
    saved.id = id;
    saved.incarnation = 7;
    saved.tables = {"small"};
    saved.signature = signature;
    saved.codecs.resize(signature.size(), Codec::kNone);
    saved.sequence = 1;
    REQUIRE_OK(store.Restore({OneSaved()}, {saved}));
  } else {
    REQUIRE_OK(store.CreateTable(SmallTable()));
    {
      const auto session = testing::ValueOf(store.OpenWriter(id, {"small"}, signature, 7));
      REQUIRE_OK(session->Claim(7));
      session->Insert(1, InsertBlock(), [](const auto& /*result*/) {});
    }
    store.TendWriters(absl::UnixEpoch());
    store.TendWriters(absl::UnixEpoch() + absl::Minutes(31));
  }
  REQUIRE(log.forgotten().empty());
  const auto session = testing::ValueOf(store.OpenWriter(id, {"small"}, signature, 7));
  REQUIRE(session->applied_sequence() == 1);
  REQUIRE(session->incarnation() == 7);
  // The table of the other one is not written down, and so neither is the number that it was to have.
  REQUIRE(log.forgotten().size() == (was_saved ? 0 : 1));
  REQUIRE(store.writer_info().writers == 1);
}

TEST_CASE("a writer that names more tables than there can be is refused", "[unit]") {
  ReplayStoreOptions options;
  options.max_tables = 3;
  ReplayStore store(options);
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  const absl::Status status = store.OpenWriter("w", names, SmallTable().signature).status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "names 4 tables"));
}

TEST_CASE("a closed store takes no more", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE_OK(store.CreateTable(Named("a")));
  store.Close();
  REQUIRE_CODE(store.CreateTable(Named("b")), absl::StatusCode::kCancelled);
}

}  // namespace waggle
