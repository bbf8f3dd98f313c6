#include "replay_server/storage/journal.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "common/base/failpoint.h"
#include "common/replay/blocks/block_compression.h"
#include "tests/replay_server/storage/crashing_replay.h"
#include "tests/replay_server/storage/full_disk.h"
#include "tests/replay_server/storage/power_cut.h"
#include "tests/support/eventually.h"
#include "tests/support/stuck_stream.h"

namespace waggle::testing {
namespace {

// The commits and checkpoints of a journal that makes none by itself.
JournalOptions OnRequest() {
  JournalOptions options;
  options.checkpoint_period = absl::InfiniteDuration();
  return options;
}

// A replay store with a journal over this database.
struct LiveReplay {
  explicit LiveReplay(const std::shared_ptr<Database>& database, SavedState saved = {})
      : journal(database, std::move(saved), OnRequest()), store({}, &journal) {}
  ~LiveReplay() {
    store.Close();
    journal.Stop();
  }

  std::shared_ptr<Table> Create(const TableConfig& config) {
    REQUIRE(ValueOf(store.CreateTable(config)));
    return ValueOf(store.FindTable(config.name));
  }
  std::shared_ptr<WriterSession> Open(const Table& table) {
    const auto session = ValueOf(store.OpenWriter(table.name(), {table.name()}, table.created().signature));
    REQUIRE_OK(session->Claim(7));
    return session;
  }
  void AwaitFailure() {
    Eventually("a failure", [this] { return !journal.status().ok(); });
  }

  Journal journal;
  ReplayStore store;
};

TEST_CASE("a logged table has all that it acknowledged after a crash, once", "[unit]") {
  CrashingReplay replay;
  TableConfig config = DurableTable("t", Durability::kLog);
  config.sampler.kind = SelectorKind::kPrioritized;
  config.sampler.priority_exponent = 1;
  replay.Create(config);
  {
    const auto session = replay.Open({"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
    CHECK(session->progress().durable == 2);
  }
  replay.Crash();
  const auto table = replay.FindTable("t");
  const Table::Info info = table->info();
  CHECK(info.items == 10);
  CHECK(info.items_inserted == 10);
  CHECK(info.priority_sum == 10);
  const auto session = replay.Open({"t"});
  CHECK(session->progress().sequence == 2);
  CHECK(session->progress().items.items_inserted == 10);
  // A repeated block is not inserted again, the next one is.
  REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
  CHECK(table->info().items == 10);
  REQUIRE_OK(AwaitInsert(session.get(), 3, SimpleBlock(10, 5)));
  CHECK(table->info().items == 15);
  const std::vector<float> rewards = SampleRewards(table.get(), 200);
  const std::set<float> seen(rewards.begin(), rewards.end());
  CHECK(*seen.begin() >= 0);
  CHECK(*seen.rbegin() < 15);
  CHECK(seen.size() > 10);
}

TEST_CASE("another writer with the name of a restored one is refused", "[unit]") {
  CrashingReplay replay;
  replay.Create(DurableTable("t", Durability::kLog));
  REQUIRE_OK(AwaitInsert(replay.Open({"t"}).get(), 1, SimpleBlock(0, 5)));
  replay.Restart();
  const auto session = ValueOf(replay.store()->OpenWriter("w", {"t"}, replay.FindTable("t")->created().signature));
  REQUIRE_CODE(session->Claim(8), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(session->Claim(7));
}

TEST_CASE("an item that was sampled as often as it may be is not sampled again after a crash", "[unit]") {
  CrashingReplay replay;
  replay.Create(OnceTable("t", Durability::kLog));
  REQUIRE_OK(AwaitInsert(replay.Open({"t"}).get(), 1, SimpleBlock(0, 10)));
  CHECK(SampleRewards(replay.FindTable("t").get(), 4) == std::vector<float>{0, 1, 2, 3});
  replay.Crash();
  CHECK(replay.FindTable("t")->info().items_sampled == 4);
  CHECK(Drain(replay.FindTable("t").get()) == Range(4, 10));
}

TEST_CASE("a crash takes a checkpointed table back to the last checkpoint, and its writer goes on", "[unit]") {
  CrashingReplay replay;
  replay.Create(OnceTable("t", Durability::kCheckpoint));
  {
    const auto session = replay.Open({"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    CHECK(session->progress().durable == 0);
    CHECK(ValueOf(AwaitCheckpoint(replay.now()->journal.get())).number == 1);
    CHECK(session->progress().durable == 1);
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
    CHECK(session->progress().durable == 1);
  }
  replay.Crash();
  {
    CHECK(replay.FindTable("t")->info().items == 5);
    const auto session = replay.Open({"t"});
    CHECK(session->progress().sequence == 1);
    // The second block was acknowledged, so the third one comes as the second: its stream jumps.
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(10, 5)));
    std::multiset<float> expected = Range(0, 5);
    expected.merge(Range(10, 15));
    CHECK(Drain(replay.FindTable("t").get()) == expected);
  }
  replay.Restart();  // A clean stop makes a checkpoint.
  CHECK(replay.FindTable("t")->info().items == 0);
  CHECK(replay.FindTable("t")->info().items_inserted == 10);
  CHECK(replay.Open({"t"})->progress().sequence == 2);
}

TEST_CASE("blocks without references leave the database", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig config = DurableTable("t", GENERATE(Durability::kLog, Durability::kCheckpoint));
    config.max_items = 10;
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    const auto session = Open(&replay, "w", {"t"});
    for (uint64_t i = 0; i < 50; ++i) {
      REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * 5, 5)));
      if (i % 20 == 0) {
        REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
      }
    }
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
  }
  DataFolderOptions options;
  options.path = folder.File("live");
  DataFolder::Opened opened = ValueOf(DataFolder::Open(options));
  CHECK(opened.state.orphans.empty());
  const int64_t blocks = CountRecords(opened.database.get(), 'b');
  CHECK(blocks >= 2);
  CHECK(blocks <= 4);
}

TEST_CASE("compressed columns are restored", "[unit]") {
  CrashingReplay replay;
  TableConfig config = OnceTable("t", Durability::kLog);
  config.compression = {{"observation", Codec::kLz4}};
  replay.Create(config);
  InsertBlock block = SimpleBlock(0, 40);
  REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block));
  REQUIRE_OK(AwaitInsert(replay.Open({"t"}).get(), 1, std::move(block)));
  replay.Restart();
  CHECK(replay.Open({"t"})->progress().sequence == 1);
  CHECK(Drain(replay.FindTable("t").get()) == Range(0, 40));
}

TEST_CASE("restored items have the rows of their future rows, in memory and on disk", "[unit]") {
  constexpr uint32_t kRows = 30;
  CrashingReplay replay;
  TableConfig config = DurableTable("t", Durability::kLog);
  config.view.push_back({"goal", "reward", ViewField::Rows::kFuture});
  config.max_window = kRows;
  config.transition_rows = 2;
  config.memory_limit = GENERATE(0, 100);
  replay.Create(config);
  {
    const auto session = replay.Open({"t"});
    for (uint32_t first = 0; first < kRows; first += 5) {
      InsertBlock block = SimpleBlock(first, 5);
      block.items.clear();
      for (uint32_t row = 0; first + 5 == kRows && row + 1 < kRows; ++row) {
        block.items.push_back({0, 0, row, kRows - row, 1.0});
      }
      REQUIRE_OK(AwaitInsert(session.get(), first / 5 + 1, std::move(block)));
    }
  }
  replay.Restart();
  const auto table = replay.FindTable("t");
  REQUIRE(Differences(table->created(), config).empty());
  constexpr int64_t kBatch = 200;
  const SampledBatch batch = ValueOf(AwaitSample(table.get(), kBatch));
  const auto* const goals = static_cast<const float*>(batch.Data("goal"));
  const auto* const offsets = static_cast<const int64_t*>(batch.Data(kItemFutureOffset));
  const std::vector<float> rewards = Rewards(batch, kBatch);
  for (size_t i = 0; i < kBatch; ++i) {
    REQUIRE(offsets[i] >= 1);
    REQUIRE(goals[i] == rewards[i] + static_cast<float>(offsets[i]));
    REQUIRE(goals[i] < kRows);
  }
  CHECK(*std::max_element(offsets, offsets + kBatch) > 10);
}

TEST_CASE("a full disk stops acknowledgements of logged items alone, and all continues after it", "[unit]") {
  FullDiskEnv env;
  LiveReplay live(ValueOf(Database::Open("/db", /*create=*/true, &env)));
  const auto logged = live.Create(DurableTable("logged", Durability::kLog));
  const auto memory = live.Create(DurableTable("memory", Durability::kNone));
  const auto writer = live.Open(*logged);
  const auto other = live.Open(*memory);
  REQUIRE_OK(AwaitInsert(writer.get(), 1, SimpleBlock(0, 5)));
  env.SetFull(true);
  Called second;
  writer->Insert(2, SimpleBlock(5, 5), [second](const auto& result) { second(result.status()); });
  live.AwaitFailure();
  REQUIRE_CODE(live.journal.status(), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)), absl::StatusCode::kUnavailable);
  REQUIRE_OK(AwaitInsert(other.get(), 1, SimpleBlock(0, 5)));
  CHECK(SampleRewards(logged.get(), 3).size() == 3);
  CHECK(SampleRewards(memory.get(), 3).size() == 3);
  CHECK(!second.called());
  CHECK(writer->applied_sequence() == 1);
  REQUIRE_CODE(logged->log_status(), absl::StatusCode::kUnavailable);
  REQUIRE_OK(memory->log_status());
  env.SetFull(false);
  REQUIRE_OK(second.Wait());
  REQUIRE_OK(live.journal.status());
  REQUIRE_OK(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)));
  CHECK(writer->progress().durable == 3);
}

// A database on disk that was opened once.
std::shared_ptr<Database> OpenDatabase(const std::string& path, rocksdb::Env* env) {
  { const DurableReplay made = OpenReplay(path); }
  return ValueOf(Database::Open(path + "/db", /*create=*/false, env));
}

TEST_CASE("all that a table with log_sync has answered outlives a power cut", "[unit]") {
  const TemporaryFolder folder;
  PowerCutEnv env;
  const auto database = OpenDatabase(folder.File("live"), &env);
  LiveReplay live(database, ValueOf(LoadSavedState(database.get())));
  TableConfig config = DurableTable("t", Durability::kLog);
  config.log_sync = true;
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.min_difference = -100;
  config.rate_limiter.max_difference = 100;
  const auto table = live.Create(config);
  REQUIRE_OK(AwaitCommit(*table));
  int cuts = 0;
  const auto after_power_cut = [&] {
    const std::string cut = folder.File(std::to_string(cuts++));
    env.CopyAfterPowerCut(folder.File("live"), cut);
    return ValueOf(OpenReplay(cut).store->FindTable("t"))->info();
  };
  CHECK(after_power_cut().items == 0);
  const auto session = live.Open(*table);
  REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
  CHECK(after_power_cut().items == 5);
  REQUIRE(SampleRewards(table.get(), 3).size() == 3);
  CHECK(after_power_cut().items_sampled == 3);
  TableConfig smaller = config;
  smaller.max_items = 4;
  REQUIRE_OK(table->Reconfigure(smaller, /*generation=*/1, /*dry_run=*/false));
  REQUIRE_OK(AwaitCommit(*table));
  CHECK(after_power_cut().config->max_items == 4);
  REQUIRE(table->Clear() == 4);
  REQUIRE_OK(AwaitCommit(*table));
  CHECK(after_power_cut().items == 0);
}

TEST_CASE("without log_sync a crash leaves all that the operating system has, and a power cut does not", "[unit]") {
  const TemporaryFolder folder;
  PowerCutEnv env;
  const auto database = OpenDatabase(folder.File("live"), &env);
  LiveReplay live(database, ValueOf(LoadSavedState(database.get())));
  REQUIRE_OK(AwaitCommit(*live.Create(DurableTable("t", Durability::kLog))));
  CopyAfterCrash(folder.File("live"), folder.File("crash"));
  env.CopyAfterPowerCut(folder.File("live"), folder.File("cut"));
  REQUIRE_OK(OpenReplay(folder.File("crash")).store->FindTable("t"));
  REQUIRE_CODE(OpenReplay(folder.File("cut")).store->FindTable("t"), absl::StatusCode::kNotFound);
}

TEST_CASE("no item is on the disk without its rows, also if much is written at once", "[unit]") {
  constexpr int64_t kWidth = 1000;
  constexpr int64_t kRows = 1300;
  const TemporaryFolder folder;
  PowerCutEnv env;
  std::atomic<int> crashes{0};
  env.WhileLogging(size_t{4} << 20, [&] {
    CopyAfterCrash(folder.File("live"), folder.File(std::to_string(crashes.load())));
    ++crashes;
  });
  {
    const auto database = OpenDatabase(folder.File("live"), &env);
    LiveReplay live(database, ValueOf(LoadSavedState(database.get())));
    TableConfig config = SimpleTable("t", kWidth);
    config.durability = Durability::kCheckpoint;
    const auto table = live.Create(config);
    REQUIRE_OK(AwaitCheckpoint(&live.journal).status());
    const auto session = live.Open(*table);
    for (uint64_t i = 0; i < 3; ++i) {
      REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * kRows, kRows, kWidth)));
    }
    REQUIRE_OK(AwaitCheckpoint(&live.journal).status());
  }
  CopyAfterCrash(folder.File("live"), folder.File(std::to_string(crashes.load())));
  REQUIRE(crashes >= 2);
  for (int i = 0; i <= crashes; ++i) {
    const DurableReplay replay = OpenReplay(folder.File(std::to_string(i)));
    CHECK(ValueOf(replay.store->FindTable("t"))->info().items == (i < crashes ? 0 : 3 * kRows));
  }
}

TEST_CASE("a stuck log does not block the journal", "[unit]") {
  FullDiskEnv env;
  LiveReplay live(ValueOf(Database::Open("/db", /*create=*/true, &env)));
  const auto table = live.Create(DurableTable("t", Durability::kLog));
  const auto writer = live.Open(*table);
  REQUIRE_OK(AwaitInsert(writer.get(), 1, SimpleBlock(0, 5)));
  StuckStream stuck(STDERR_FILENO);
  env.SetFull(true);
  Called done;
  writer->Insert(2, SimpleBlock(5, 5), [done](const auto& result) { done(result.status()); });
  live.AwaitFailure();
  REQUIRE_CODE(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)), absl::StatusCode::kUnavailable);
  stuck.LetGo();
  env.SetFull(false);
  REQUIRE_OK(done.Wait());
}

TEST_CASE("a journal that stops while the disk is full answers waiting calls", "[unit]") {
  FullDiskEnv env;
  LiveReplay live(ValueOf(Database::Open("/db", /*create=*/true, &env)));
  env.SetFull(true);
  const auto table = live.Create(DurableTable("t", Durability::kLog));
  Called called;
  table->AfterCommit(called);
  live.journal.Stop();
  REQUIRE_CODE(called.Wait(), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(AwaitCommit(*table), absl::StatusCode::kCancelled);
  REQUIRE_CODE(AwaitCheckpoint(&live.journal).status(), absl::StatusCode::kCancelled);
}

TEST_CASE("a long answer holds up the others until they are many; then the journal gives them itself", "[unit]") {
  FullDiskEnv env;
  Journal journal(ValueOf(Database::Open("/db", /*create=*/true, &env)), SavedState(), {});
  const StopToken begun;
  const StopToken released;
  journal.AfterCommit([begun, released](const absl::Status& /*status*/) {
    begun.RequestStop();
    released.Wait();
  });
  begun.Wait();
  std::atomic<int> given{0};
  int asked = 0;
  {
    const absl::Cleanup release = [released] { released.RequestStop(); };
    Eventually("an answer beside the one that lasts", [&] {
      ++asked;
      journal.AfterCommit([&given](const absl::Status& status) { given += status.ok() ? 1 : 1'000'000; });
      return given.load() > 0;
    });
    CHECK(given.load() < asked);  // The first ones wait in their queue.
  }
  journal.Stop();
  CHECK(given.load() == asked);
}

#ifdef WAGGLE_FAILPOINTS_ENABLED
TEST_CASE("a journal that gives up a write at its end writes nothing that refers to it", "[unit]") {
  CrashingReplay replay;
  replay.Create(DurableTable("t", Durability::kLog));
  {
    const auto session = replay.Open({"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    REQUIRE_OK(SetFailpoints("journal.before_commit=error(no space)@1"));
    session->Insert(2, SimpleBlock(5, 5), [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
    Eventually("a failure", [&] { return !replay.now()->journal->status().ok(); });
    // All its items change once more, and the disk takes all later writes.
    const auto table = replay.FindTable("t");
    std::vector<Table::ItemAddress> items;
    table->ListItems(0, 100, &items);
    for (const Table::ItemAddress& item : items) {
      REQUIRE(ValueOf(table->UpdatePriorities({uint64_t{item.slot}}, {item.generation}, {2.0})).applied == 1);
    }
  }
  replay.Restart();
  REQUIRE_OK(SetFailpoints(""));
  const int64_t items = replay.FindTable("t")->info().items;
  CHECK((items == 5 || items == 10));  // 10 if the end was so late that the write was tried again.
  CHECK(!std::filesystem::exists(replay.Path() + "/damaged"));
}
#endif

TEST_CASE("a table is replaced by one with other columns, and its writer begins anew", "[unit]") {
  CrashingReplay replay;
  replay.Create(DurableTable("t", Durability::kLog));
  REQUIRE_OK(AwaitInsert(replay.Open({"t"}).get(), 1, SimpleBlock(0, 5)));
  replay.Restart();
  TableConfig wider = SimpleTable("t", 30);
  wider.durability = Durability::kLog;
  if (GENERATE(false, true)) {  // The writer connects before the table is replaced.
    replay.Open({"t"});
  }
  REQUIRE(ValueOf(replay.store()->CreateTable(wider, SavedPolicy::kReplace)));
  {
    const auto session = Open(replay.now(), "w", {"t"}, 8);
    CHECK(session->applied_sequence() == 0);
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 7, 30)));
    session->Shrink();
    replay.AwaitCheckpoint();
  }
  replay.Restart();
  CHECK(replay.FindTable("t")->info().items == 7);
  CHECK(Open(replay.now(), "w", {"t"}, 8)->applied_sequence() == 1);
}

TEST_CASE("nothing stays of a table, and its writers, that is replaced by one in memory", "[unit]") {
  const TemporaryFolder folder;
  for (const auto& [durability, sequence] :
       {std::pair{Durability::kLog, uint64_t{1}}, std::pair{Durability::kNone, uint64_t{2}}}) {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", durability), SavedPolicy::kReplace)));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), sequence, SimpleBlock((sequence - 1) * 5, 5)));
  }
  const auto database = ValueOf(Database::Open(folder.File("live/db"), /*create=*/false, /*env=*/nullptr));
  const SavedState saved = ValueOf(LoadSavedState(database.get()));
  CHECK(saved.tables.empty());
  CHECK(saved.writers.empty());
}

TEST_CASE("the folder of a table whose items are replaced many times stays small", "[soak]") {
  const TemporaryFolder folder;
  constexpr int64_t kWidth = 16 << 10;
  TableConfig config = SimpleTable("t", kWidth);
  config.durability = Durability::kLog;
  config.max_items = 500;  // 32 MB.
  DurableReplay replay = OpenReplay(folder.File("live"));
  REQUIRE(ValueOf(replay.store->CreateTable(config)));
  const auto session = Open(&replay, "w", {"t"});
  uintmax_t most = 0;
  for (uint64_t i = 0; i < 4000; ++i) {  // 4 GB.
    REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * 16, 16, kWidth)));
    if (i % 100 == 99) {
      uintmax_t bytes = 0;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
        std::error_code gone;
        const uintmax_t size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
        bytes += gone ? 0 : size;
      }
      most = std::max(most, bytes);
    }
  }
  WARN("at most " << (most >> 20) << " MiB");
  REQUIRE(most < uintmax_t{2} << 30);
}

}  // namespace
}  // namespace waggle::testing
