// The cost of durability: inserts into one table by one writer with up to 64 unacknowledged blocks, and restoring. Also
// a memory_limit's cost for samplers.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/storage/data_folder.h"
#include "replay_server/storage/disk_rows.h"
#include "replay_server/storage/journal.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"
#include "tests/support/local/local_replay.h"

namespace waggle::bench {
namespace {

constexpr uint32_t kBlockItems = 64;
constexpr int kBlocks = 3000;

// A folder that is removed with its contents.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "waggle-bench-XXXXXX").string();
    WAGGLE_CHECK(mkdtemp(name.data()) != nullptr, "a temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Bed {
  explicit Bed(const std::string& path) {
    DataFolderOptions options;
    options.path = path;
    DataFolder::Opened opened = Must(DataFolder::Open(options));
    folder = std::move(opened.folder);
    JournalOptions journal_options;
    journal_options.checkpoint_period = absl::InfiniteDuration();
    const std::shared_ptr<Database> database = std::move(opened.database);
    journal = std::make_unique<Journal>(database, opened.state, journal_options);
    tiers = std::make_unique<ChunkTiers>(std::make_shared<DiskRows>(database, folder->cold_path()));
    store = std::make_shared<ReplayStore>(ReplayStoreOptions(), journal.get(), tiers.get());
    Must(store->Restore(std::move(opened.state.tables), std::move(opened.state.writers)));
  }
  ~Bed() {
    store->Close();
    tiers->Stop();
    journal->Stop();
  }

  std::unique_ptr<DataFolder> folder;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<ChunkTiers> tiers;
  std::shared_ptr<ReplayStore> store;
};

TableConfig Table(Durability durability, bool sync, int64_t row_bytes) {
  TableConfig config;
  config.name = "t";
  config.signature = {{"row", DType::kUint8, {row_bytes}}};
  config.view = {{"row", "row", ViewField::Rows::kFirst}};
  config.max_items = 100'000;
  config.max_bytes = int64_t{1} << 31;
  config.durability = durability;
  config.log_sync = sync;
  return config;
}

// Creates the table, and a writer to it.
std::unique_ptr<ReplayWriter> NewWriter(Bed* bed, LocalReplayConnection* connection, const TableConfig& config) {
  Must(bed->store->CreateTable(config).status());
  ReplayWriterOptions options;
  options.writer_id = "w";
  options.tables = {config.name};
  options.signature = config.signature;
  return Must(connection->NewWriter(options));
}

using Bytes = std::shared_ptr<std::vector<char>>;

Bytes RowsOf(int64_t row_bytes, uint32_t count) {
  return std::make_shared<std::vector<char>>(static_cast<size_t>(row_bytes) * count, 'x');
}

// Block `number` of blocks with `count` rows, each an item.
InsertBlock BlockOf(uint64_t number, uint32_t count, const Bytes& rows) {
  InsertBlock block;
  block.chunks.push_back({0, number * count, count});
  for (uint32_t item = 0; item < count; ++item) {
    block.items.push_back({0, 0, number * count + item, 1, 1.0});
  }
  block.data = ByteSlices({rows->data(), rows->size(), rows});
  return block;
}

// Items per second until the last one is acknowledged.
double InsertRate(Durability durability, bool sync, int64_t row_bytes) {
  const Folder folder;
  Bed bed(folder.path());
  const TableConfig config = Table(durability, sync, row_bytes);
  LocalReplayConnection connection(bed.store);
  const auto writer = NewWriter(&bed, &connection, config);
  const Bytes rows = RowsOf(row_bytes, kBlockItems);
  const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (int64_t{1} << 29) / (row_bytes * kBlockItems)));
  const absl::Time start = absl::Now();
  for (int i = 0; i < blocks; ++i) {
    Must(writer->Append(BlockOf(static_cast<uint64_t>(i), kBlockItems, rows), StopToken()));
  }
  Must(writer->Flush(absl::Minutes(10)));
  return blocks * double{kBlockItems} / absl::ToDoubleSeconds(absl::Now() - start);
}

Result Inserts(Durability durability, bool sync, int64_t row_bytes) {
  const double memory = InsertRate(Durability::kNone, false, row_bytes);
  return BestRate([&] { return InsertRate(durability, sync, row_bytes); }, "items/s", memory,
                  "the same in memory only");
}

// The time of a checkpoint with 100 000 changed items, and of one with a thousand.
Result Checkpoint(int changed) {
  const Folder folder;
  Bed bed(folder.path());
  const TableConfig config = Table(Durability::kCheckpoint, false, 64);
  Must(bed.store->CreateTable(config).status());
  const auto session = Must(bed.store->OpenWriter("w", {"t"}, config.signature));
  const Bytes rows = RowsOf(64, 1000);
  uint64_t sequence = 0;
  const auto insert = [&](int items) {
    for (int i = 0; i < items; i += 1000, ++sequence) {
      session->Insert(sequence + 1, BlockOf(sequence, 1000, rows), [](const auto& result) { Must(result.status()); });
    }
  };
  const auto checkpoint = [&bed] {
    std::atomic<bool> done{false};
    bed.journal->Checkpoint([&done](const absl::StatusOr<CheckpointInfo>& info) {
      Must(info.status());
      done = true;
    });
    while (!done) {
      absl::SleepFor(absl::Microseconds(50));
    }
  };
  insert(100'000);
  checkpoint();
  return Milliseconds(TimePerCall([&] { insert(changed); }, checkpoint), 1000, "a second");
}

// The times until each of many blocks is acknowledged, in milliseconds, sorted. The table is checkpointed and full.
std::vector<double> InsertTimes(bool checkpoints) {
  constexpr int kWarmUpBlocks = 1600;  // Until it is full.
  constexpr int kTimedBlocks = 50'000;
  const Folder folder;
  Bed bed(folder.path());
  const TableConfig config = Table(Durability::kCheckpoint, false, 400);
  LocalReplayConnection connection(bed.store);
  const auto writer = NewWriter(&bed, &connection, config);
  const Bytes rows = RowsOf(400, kBlockItems);
  std::vector<double> times;
  std::atomic<bool> done{true};
  for (int i = 0; i < kWarmUpBlocks + kTimedBlocks; ++i) {
    // The next checkpoint begins when the last one ends.
    if (checkpoints && done.exchange(false)) {
      bed.journal->Checkpoint([&done](const absl::StatusOr<CheckpointInfo>& info) {
        Must(info.status());
        done = true;
      });
    }
    InsertBlock block = BlockOf(static_cast<uint64_t>(i), kBlockItems, rows);
    const absl::Time start = absl::Now();
    Must(writer->Append(std::move(block), StopToken()));
    Must(writer->Flush(absl::Minutes(10)));
    if (i >= kWarmUpBlocks) {
      times.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
    }
  }
  while (checkpoints && !done) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  std::sort(times.begin(), times.end());
  return times;
}

// One checkpoint after the other beside one writer. The limit is the same writer without checkpoints.
Result InsertP99(bool checkpoints) {
  static const std::vector<double> without = InsertTimes(false);
  const std::vector<double> times = checkpoints ? InsertTimes(true) : without;
  const size_t p99 = times.size() * 99 / 100;
  const double median = times[times.size() / 2];
  return {times[p99],
          median,
          "ms",
          checkpoints ? without[p99] : 5 * median,
          checkpoints ? "the same without checkpoints" : "five times the median",
          /*less_is_better=*/true};
}

// Opening a folder with 100 000 items.
Result Restore() {
  const Folder folder;
  {
    Bed bed(folder.path());
    const TableConfig config = Table(Durability::kLog, false, 400);
    Must(bed.store->CreateTable(config).status());
    const auto session = Must(bed.store->OpenWriter("w", {"t"}, config.signature));
    const Bytes rows = RowsOf(400, 1000);
    for (uint64_t i = 0; i < 100; ++i) {
      session->Insert(i + 1, BlockOf(i, 1000, rows), [](const auto& result) { Must(result.status()); });
    }
    bed.store->Close();
    bed.journal->Stop();
  }
  std::unique_ptr<Bed> bed;
  return Milliseconds(TimePerCall([&] { bed.reset(); }, [&] { bed = std::make_unique<Bed>(folder.path()); }), 1000,
                      "a second");
}

// Rows of 40 kB per second that one sampler gets in batches of 32, from 160 MB in blocks of four. `memory_limit` bytes
// are in memory; 0: all. The other rows are mostly in the machine's page cache.
double SampleRate(int64_t memory_limit) {
  constexpr int64_t kRowBytes = 40'000;
  constexpr uint32_t kRowsABlock = 4;
  constexpr int kBatches = 100;
  const Folder folder;
  Bed bed(folder.path());
  TableConfig config = Table(Durability::kNone, false, kRowBytes);
  config.memory_limit = memory_limit;
  LocalReplayConnection connection(bed.store);
  const auto writer = NewWriter(&bed, &connection, config);
  const Bytes rows = RowsOf(kRowBytes, kRowsABlock);
  for (uint64_t i = 0; i < 1000; ++i) {
    Must(writer->Append(BlockOf(i, kRowsABlock, rows), StopToken()));
  }
  Must(writer->Flush(absl::Minutes(10)));
  ReplaySamplerOptions options;
  options.table = config;
  options.batch_size = 32;
  const auto sampler = Must(connection.NewSampler(options));
  for (int i = 0; i < 10; ++i) {
    Must(sampler->Next(StopToken()).status());
  }
  const absl::Time start = absl::Now();
  for (int i = 0; i < kBatches; ++i) {
    Must(sampler->Next(StopToken()).status());
  }
  return kBatches * 32 / absl::ToDoubleSeconds(absl::Now() - start);
}

Result Samples(int64_t memory_limit) {
  const double whole = SampleRate(0);
  return BestRate([&] { return SampleRate(memory_limit); }, "rows/s", whole, "the same without a memory_limit");
}

int Run(int argc, char** argv) {
  std::vector<Case> cases;
  for (const int64_t bytes : {int64_t{16}, int64_t{400}, int64_t{4000}, int64_t{40000}}) {
    const std::string size = std::to_string(bytes) + "B";
    cases.push_back(
        {"storage/insert_checkpoint_" + size, [=] { return Inserts(Durability::kCheckpoint, false, bytes); }});
    cases.push_back({"storage/insert_log_" + size, [=] { return Inserts(Durability::kLog, false, bytes); }});
    cases.push_back({"storage/insert_log_sync_" + size, [=] { return Inserts(Durability::kLog, true, bytes); }});
  }
  cases.push_back({"storage/checkpoint_1000_changed", [] { return Checkpoint(1000); }});
  cases.push_back({"storage/checkpoint_100000_changed", [] { return Checkpoint(100'000); }});
  cases.push_back({"storage/insert_p99", [] { return InsertP99(false); }});
  cases.push_back({"storage/insert_p99_during_checkpoint", [] { return InsertP99(true); }});
  cases.push_back({"storage/restore_100000", Restore});
  cases.push_back({"storage/sample_40000B_all_in_memory", [] { return Samples(320'000'000); }});
  cases.push_back({"storage/sample_40000B_half_in_memory", [] { return Samples(80'000'000); }});
  cases.push_back({"storage/sample_40000B_tenth_in_memory", [] { return Samples(16'000'000); }});
  return RunCases(argc, argv, cases);
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::Run(argc, argv);
}
