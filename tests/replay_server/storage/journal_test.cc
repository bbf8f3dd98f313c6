#include "replay_server/storage/journal.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "common/base/failpoint.h"
#include "common/replay/blocks/block_compression.h"
#include "tests/replay_server/storage/durable_replay.h"
#include "tests/replay_server/storage/full_disk.h"
#include "tests/replay_server/storage/journal_fixture.h"
#include "tests/replay_server/storage/power_cut.h"
#include "tests/support/eventually.h"
#include "tests/support/stuck_stream.h"

namespace waggle::testing {
namespace {

TEST_CASE("what a logged table has acknowledged is there after a crash, once, with all that is known of it", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    TableConfig config = DurableTable("t", Durability::kLog);
    config.sampler.kind = SelectorKind::kPrioritized;
    config.sampler.priority_exponent = 1;
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
    CHECK(session->progress().durable == 2);
    const auto table = ValueOf(replay.store->FindTable("t"));
    CHECK(table->info().priority_sum == 10);
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const Table::Info info = table->info();
  CHECK(info.items == 10);
  CHECK(info.items_inserted == 10);
  CHECK(info.priority_sum == 10);
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 2);
  CHECK(session->progress().items.items_inserted == 10);
  // What it sends again is not inserted again, what follows is.
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

TEST_CASE("another writer under the name of one that was restored is refused", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kLog))));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 1, SimpleBlock(0, 5)));
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const auto session = ValueOf(replay.store->OpenWriter("w", {"t"}, table->created().signature));
  REQUIRE_CODE(session->Claim(8), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(session->Claim(7));
}

TEST_CASE("an item that was given away as often as it may be is not given again after a crash", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(OnceTable("t", Durability::kLog))));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 10)));
    const auto table = ValueOf(replay.store->FindTable("t"));
    CHECK(SampleRewards(table.get(), 4) == std::vector<float>{0, 1, 2, 3});
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  CHECK(table->info().items_sampled == 4);
  CHECK(Drain(table.get()) == Range(4, 10));
}

TEST_CASE("a checkpointed table is what it was at the last checkpoint, and its writer goes on", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(OnceTable("t", Durability::kCheckpoint))));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    CHECK(session->progress().durable == 0);
    CHECK(ValueOf(AwaitCheckpoint(replay.journal.get())).number == 1);
    CHECK(session->progress().durable == 1);
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(5, 5)));
    CHECK(session->progress().durable == 1);
    CopyAfterCrash(folder.File("live"), folder.File("crashed"));
  }
  {
    DurableReplay replay = OpenReplay(folder.File("crashed"));
    const auto table = ValueOf(replay.store->FindTable("t"));
    CHECK(table->info().items == 5);
    const auto session = Open(&replay, "w", {"t"});
    CHECK(session->progress().sequence == 1);
    // The second block was acknowledged, so the third one comes as the second: its stream goes on later.
    REQUIRE_OK(AwaitInsert(session.get(), 2, SimpleBlock(10, 5)));
    std::multiset<float> expected = Range(0, 5);
    expected.merge(Range(10, 15));
    CHECK(Drain(table.get()) == expected);
  }
  // A clean stop is a checkpoint.
  DurableReplay replay = OpenReplay(folder.File("crashed"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  CHECK(table->info().items == 0);
  CHECK(table->info().items_inserted == 10);
  CHECK(Open(&replay, "w", {"t"})->progress().sequence == 2);
}

TEST_CASE("blocks that nothing refers to any more leave the database", "[unit]") {
  const TemporaryFolder folder;
  const auto blocks = [](DurableReplay* replay, Durability durability) {
    TableConfig config = DurableTable("t", durability);
    config.max_items = 10;
    REQUIRE(ValueOf(replay->store->CreateTable(config)));
    const auto session = Open(replay, "w", {"t"});
    for (uint64_t i = 0; i < 50; ++i) {
      REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * 5, 5)));
      if (i % 20 == 0) {
        REQUIRE_OK(AwaitCheckpoint(replay->journal.get()).status());
      }
    }
    REQUIRE_OK(AwaitCheckpoint(replay->journal.get()).status());
    REQUIRE_OK(AwaitCheckpoint(replay->journal.get()).status());
  };
  const Durability durability = GENERATE(Durability::kLog, Durability::kCheckpoint);
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    blocks(&replay, durability);
  }
  DataFolderOptions options;
  options.path = folder.File("live");
  DataFolder::Opened opened = ValueOf(DataFolder::Open(options));
  CHECK(opened.state.orphans.empty());
  const std::unique_ptr<rocksdb::Iterator> it(
      opened.database->get()->NewIterator(rocksdb::ReadOptions(), opened.database->family(Database::Family::kBlocks)));
  int64_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    ++count;
  }
  CHECK(count >= 2);
  CHECK(count <= 4);
}

TEST_CASE("compressed columns come back as they were", "[unit]") {
  const TemporaryFolder folder;
  TableConfig config = OnceTable("t", Durability::kLog);
  config.compression = {{"observation", Codec::kLz4}};
  config.max_window = 2;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    InsertBlock block = SimpleBlock(0, 40);
    REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 1, std::move(block)));
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  const auto session = Open(&replay, "w", {"t"});
  CHECK(session->progress().sequence == 1);
  CHECK(Drain(table.get()) == Range(0, 40));
}

TEST_CASE("items come back with the rows that their future row is one of, in memory and on disk", "[unit]") {
  constexpr uint32_t kRows = 30;
  const TemporaryFolder folder;
  TableConfig config = DurableTable("t", Durability::kLog);
  config.view.push_back({"goal", "reward", ViewField::Rows::kFuture});
  config.max_window = kRows;
  config.transition_rows = 2;
  config.memory_limit = GENERATE(0, 100);
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(config)));
    const auto session = Open(&replay, "w", {"t"});
    for (uint32_t first = 0; first < kRows; first += 5) {
      InsertBlock block = SimpleBlock(first, 5);
      block.items.clear();
      for (uint32_t row = 0; first + 5 == kRows && row + 1 < kRows; ++row) {
        block.items.push_back({0, 0, row, kRows - row, 1.0});
      }
      REQUIRE_OK(AwaitInsert(session.get(), first / 5 + 1, std::move(block)));
    }
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  const auto table = ValueOf(replay.store->FindTable("t"));
  REQUIRE(Differences(table->created(), config).empty());
  constexpr int64_t kBatch = 200;
  const auto layout =
      std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->created(), kBatch, size_t{1} << 30)));
  Called called;
  absl::StatusOr<SampledBatch> batch;
  table->Sample(layout, kBatch, [&](absl::StatusOr<SampledBatch> sampled) {
    batch = std::move(sampled);
    called(batch.status());
  });
  REQUIRE_OK(called.Wait());
  const auto* const goals = static_cast<const float*>(batch->Data("goal"));
  const auto* const offsets = static_cast<const int64_t*>(batch->Data(kItemFutureOffset));
  const std::vector<float> rewards = testing::Rewards(*batch, kBatch);
  for (size_t i = 0; i < kBatch; ++i) {
    REQUIRE(offsets[i] >= 1);
    REQUIRE(goals[i] == rewards[i] + static_cast<float>(offsets[i]));
    REQUIRE(goals[i] < kRows);
  }
  CHECK(*std::max_element(offsets, offsets + kBatch) > 10);
}

TEST_CASE("while the disk is full nothing is acknowledged that is to last, the rest goes on, and so does all after it",
          "[unit]") {
  testing::FullDiskEnv env;
  JournalOptions options;
  options.checkpoint_period = absl::InfiniteDuration();
  Journal journal(ValueOf(Database::Open("/db", /*create=*/true, &env)), SavedState(), options);
  ReplayStore store({}, &journal);
  REQUIRE(ValueOf(store.CreateTable(DurableTable("logged", Durability::kLog))));
  REQUIRE(ValueOf(store.CreateTable(DurableTable("memory", Durability::kNone))));
  const auto logged = ValueOf(store.FindTable("logged"));
  const auto memory = ValueOf(store.FindTable("memory"));
  const auto writer = ValueOf(store.OpenWriter("w", {"logged"}, logged->created().signature));
  const auto other = ValueOf(store.OpenWriter("o", {"memory"}, logged->created().signature));
  REQUIRE_OK(AwaitInsert(writer.get(), 1, SimpleBlock(0, 5)));
  env.SetFull(true);
  Called second;
  writer->Insert(2, SimpleBlock(5, 5), [second](const auto& result) { second(result.status()); });
  while (journal.status().ok()) {
    std::this_thread::yield();
  }
  REQUIRE_CODE(journal.status(), absl::StatusCode::kUnavailable);
  REQUIRE(absl::StrContains(journal.status().message(), "No space left"));
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
  REQUIRE_OK(journal.status());
  REQUIRE_OK(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)));
  CHECK(writer->progress().durable == 3);
  store.Close();
  journal.Stop();
}

// A replay store over files that know what of them is on the disk for sure.
struct LiveReplay {
  LiveReplay(const std::string& path, rocksdb::Env* env) {
    { const DurableReplay made = OpenReplay(path); }
    std::shared_ptr<Database> database = ValueOf(Database::Open(path + "/db", /*create=*/false, env));
    SavedState saved = ValueOf(LoadSavedState(database.get()));
    JournalOptions options;
    options.checkpoint_period = absl::InfiniteDuration();
    journal = std::make_unique<Journal>(database, saved, options);
    store = std::make_unique<ReplayStore>(ReplayStoreOptions(), journal.get());
  }
  ~LiveReplay() {
    store->Close();
    journal->Stop();
  }

  std::unique_ptr<Journal> journal;
  std::unique_ptr<ReplayStore> store;
};

TEST_CASE("what a table with log_sync has answered outlives a power cut, whatever it was", "[unit]") {
  const TemporaryFolder folder;
  testing::PowerCutEnv env;
  LiveReplay live(folder.File("live"), &env);
  TableConfig config = DurableTable("t", Durability::kLog);
  config.log_sync = true;
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.min_difference = -100;
  config.rate_limiter.max_difference = 100;
  REQUIRE(ValueOf(live.store->CreateTable(config)));
  const auto table = ValueOf(live.store->FindTable("t"));
  REQUIRE_OK(AwaitCommit(*table));
  int cuts = 0;
  const auto after_power_cut = [&](const auto& check) {
    const std::string cut = folder.File(std::to_string(cuts++));
    env.CopyAfterPowerCut(folder.File("live"), cut);
    const DurableReplay replay = OpenReplay(cut);
    const auto restored = ValueOf(replay.store->FindTable("t"));
    check(*restored);
  };
  after_power_cut([](const Table& restored) { CHECK(restored.info().items == 0); });
  const auto session = ValueOf(live.store->OpenWriter("w", {"t"}, table->created().signature));
  REQUIRE_OK(session->Claim(7));
  REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
  after_power_cut([](const Table& restored) { CHECK(restored.info().items == 5); });
  REQUIRE(SampleRewards(table.get(), 3).size() == 3);
  after_power_cut([](const Table& restored) { CHECK(restored.info().items_sampled == 3); });
  TableConfig smaller = config;
  smaller.max_items = 4;
  REQUIRE_OK(table->Reconfigure(smaller, /*generation=*/1, /*dry_run=*/false));
  REQUIRE_OK(AwaitCommit(*table));
  after_power_cut([](const Table& restored) { CHECK(restored.config()->max_items == 4); });
  REQUIRE(table->Clear() == 4);
  REQUIRE_OK(AwaitCommit(*table));
  after_power_cut([](const Table& restored) { CHECK(restored.info().items == 0); });
}

TEST_CASE("without log_sync what the operating system has is what a crash leaves, and a power cut takes", "[unit]") {
  const TemporaryFolder folder;
  testing::PowerCutEnv env;
  LiveReplay live(folder.File("live"), &env);
  REQUIRE(ValueOf(live.store->CreateTable(DurableTable("t", Durability::kLog))));
  REQUIRE_OK(AwaitCommit(*ValueOf(live.store->FindTable("t"))));
  CopyAfterCrash(folder.File("live"), folder.File("crash"));
  env.CopyAfterPowerCut(folder.File("live"), folder.File("cut"));
  REQUIRE_OK(OpenReplay(folder.File("crash")).store->FindTable("t"));
  REQUIRE_CODE(OpenReplay(folder.File("cut")).store->FindTable("t"), absl::StatusCode::kNotFound);
}

TEST_CASE("there are never items on the disk without their rows, however much is written at once", "[unit]") {
  constexpr int64_t kWidth = 1000;
  constexpr int64_t kRows = 1300;
  const TemporaryFolder folder;
  testing::PowerCutEnv env;
  std::atomic<int> crashes{0};
  env.WhileLogging(size_t{4} << 20, [&] {
    CopyAfterCrash(folder.File("live"), folder.File(std::to_string(crashes.load())));
    ++crashes;
  });
  {
    LiveReplay live(folder.File("live"), &env);
    TableConfig config = testing::SimpleTable("t", kWidth);
    config.durability = Durability::kCheckpoint;
    REQUIRE(ValueOf(live.store->CreateTable(config)));
    REQUIRE_OK(AwaitCheckpoint(live.journal.get()).status());
    const auto session = ValueOf(live.store->OpenWriter("w", {"t"}, config.signature));
    REQUIRE_OK(session->Claim(7));
    for (uint64_t i = 0; i < 3; ++i) {
      REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * kRows, kRows, kWidth)));
    }
    REQUIRE_OK(AwaitCheckpoint(live.journal.get()).status());
  }
  CopyAfterCrash(folder.File("live"), folder.File(std::to_string(crashes.load())));
  REQUIRE(crashes >= 2);
  for (int i = 0; i <= crashes; ++i) {
    const DurableReplay replay = OpenReplay(folder.File(std::to_string(i)));
    CHECK(ValueOf(replay.store->FindTable("t"))->info().items == (i < crashes ? 0 : 3 * kRows));
  }
}

TEST_CASE("whoever reads what a journal logs holds nobody else up", "[unit]") {
  testing::FullDiskEnv env;
  JournalOptions options;
  options.checkpoint_period = absl::InfiniteDuration();
  Journal journal(ValueOf(Database::Open("/db", /*create=*/true, &env)), SavedState(), options);
  ReplayStore store({}, &journal);
  REQUIRE(ValueOf(store.CreateTable(DurableTable("t", Durability::kLog))));
  const auto table = ValueOf(store.FindTable("t"));
  const auto writer = ValueOf(store.OpenWriter("w", {"t"}, table->created().signature));
  REQUIRE_OK(AwaitInsert(writer.get(), 1, SimpleBlock(0, 5)));
  testing::StuckStream stuck(STDERR_FILENO);
  env.SetFull(true);
  Called done;
  writer->Insert(2, SimpleBlock(5, 5), [done](const auto& result) { done(result.status()); });
  while (journal.status().ok()) {
    std::this_thread::yield();
  }
  REQUIRE_CODE(AwaitInsert(writer.get(), 3, SimpleBlock(10, 5)), absl::StatusCode::kUnavailable);
  stuck.LetGo();
  env.SetFull(false);
  REQUIRE_OK(done.Wait());
}

TEST_CASE("a journal that stops while the disk is full tells those who wait", "[unit]") {
  testing::FullDiskEnv env;
  Journal journal(ValueOf(Database::Open("/db", /*create=*/true, &env)), SavedState(), {});
  env.SetFull(true);
  ReplayStore store({}, &journal);
  REQUIRE(ValueOf(store.CreateTable(DurableTable("t", Durability::kLog))));
  Called called;
  ValueOf(store.FindTable("t"))->AfterCommit(called);
  journal.Stop();
  REQUIRE_CODE(called.Wait(), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(AwaitCommit(*ValueOf(store.FindTable("t"))), absl::StatusCode::kCancelled);
  REQUIRE_CODE(AwaitCheckpoint(&journal).status(), absl::StatusCode::kCancelled);
}

TEST_CASE("an answer that lasts holds the others up until they are too many, and then the journal gives them",
          "[unit]") {
  testing::FullDiskEnv env;
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
    testing::Eventually("an answer beside the one that lasts", [&] {
      ++asked;
      journal.AfterCommit([&given](const absl::Status& status) { given += status.ok() ? 1 : 1'000'000; });
      return given.load() > 0;
    });
    CHECK(given.load() < asked);  // Those that came first wait in their queue.
  }
  journal.Stop();
  CHECK(given.load() == asked);
}

#ifdef WAGGLE_FAILPOINTS_ENABLED
TEST_CASE("a journal that gave a write up at its end writes nothing that refers to it", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kLog))));
    const auto session = Open(&replay, "w", {"t"});
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 5)));
    REQUIRE_OK(SetFailpoints("journal.before_commit=error(no space)@1"));
    session->Insert(2, SimpleBlock(5, 5), [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
    while (replay.journal->status().ok()) {
      std::this_thread::yield();
    }
    // All its items change once more, and the disk takes whatever comes now.
    const auto table = ValueOf(replay.store->FindTable("t"));
    std::vector<Table::ItemAddress> items;
    table->ListItems(0, 100, &items);
    for (const Table::ItemAddress& item : items) {
      REQUIRE(ValueOf(table->UpdatePriorities({uint64_t{item.slot}}, {item.generation}, {2.0})).applied == 1);
    }
  }
  REQUIRE_OK(SetFailpoints(""));
  DurableReplay replay = OpenReplay(folder.File("live"));
  const int64_t items = ValueOf(replay.store->FindTable("t"))->info().items;
  CHECK((items == 5 || items == 10));  // 10 where the end came so late that the write was tried again.
  CHECK(!std::filesystem::exists(folder.File("live/damaged")));
}
#endif

TEST_CASE("a table is replaced by one with other columns, and its writer begins anew", "[unit]") {
  const TemporaryFolder folder;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kLog))));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 1, SimpleBlock(0, 5)));
  }
  TableConfig wider = testing::SimpleTable("t", 30);
  wider.durability = Durability::kLog;
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    const bool connected = GENERATE(false, true);
    if (connected) {  // Before the table is replaced.
      Open(&replay, "w", {"t"});
    }
    REQUIRE(ValueOf(replay.store->CreateTable(wider, SavedPolicy::kReplace)));
    const auto session = Open(&replay, "w", {"t"}, 8);
    CHECK(session->applied_sequence() == 0);
    REQUIRE_OK(AwaitInsert(session.get(), 1, SimpleBlock(0, 7, 30)));
    session->Shrink();
    REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
  }
  DurableReplay replay = OpenReplay(folder.File("live"));
  CHECK(ValueOf(replay.store->FindTable("t"))->info().items == 7);
  CHECK(Open(&replay, "w", {"t"}, 8)->applied_sequence() == 1);
}

TEST_CASE("of a table that is replaced by one in memory only, nothing stays, nor of its writers", "[unit]") {
  const TemporaryFolder folder;
  const TableConfig logged = DurableTable("t", Durability::kLog);
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(logged)));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 1, SimpleBlock(0, 5)));
  }
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kNone), SavedPolicy::kReplace)));
    REQUIRE_OK(AwaitInsert(Open(&replay, "w", {"t"}).get(), 2, SimpleBlock(5, 5)));
  }
  const auto database = ValueOf(Database::Open(folder.File("live/db"), /*create=*/false, /*env=*/nullptr));
  const SavedState saved = ValueOf(LoadSavedState(database.get()));
  CHECK(saved.tables.empty());
  CHECK(saved.writers.empty());
}

TEST_CASE("the folder of a table that is written through many times stays small", "[soak]") {
  const TemporaryFolder folder;
  constexpr int64_t kWidth = 16 << 10;
  TableConfig config = testing::SimpleTable("t", kWidth);
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
