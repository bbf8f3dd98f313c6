// The database of a replay server: records of every kind, each complete, that may contradict each other or themselves.
// They are refused as damaged, or become usable tables that can be saved and restored again.
#include <algorithm>

#include "common/base/steady_now.h"
#include "replay_server/storage/saved_state.h"
#include "tests/fuzz/fuzz_database.h"
#include "tests/fuzz/fuzz_durable.h"

namespace waggle {
namespace {

// The place where a writer's streams continue.
struct Resumed {
  std::string id;
  std::vector<std::string> tables;
  std::vector<ChunkInfo> chunks;
};

std::vector<Resumed> WritersOf(const SavedState& state) {
  std::vector<Resumed> writers;
  for (const SavedWriter& writer : state.writers) {
    Resumed resumed{writer.id, writer.tables, {}};
    for (const StreamRecord& stream : writer.streams) {
      resumed.chunks.push_back({stream.stream, stream.next, 1, false});
    }
    writers.push_back(std::move(resumed));
  }
  return writers;
}

// Adds a new row for each stream, with windows over it and the row before.
void GoOn(ReplayStore* store, const Resumed& writer) {
  if (writer.tables.empty()) {
    return;
  }
  const absl::StatusOr<std::shared_ptr<Table>> table = store->FindTable(writer.tables.front());
  if (!table.ok() || RowLayout((*table)->created().signature).row_bytes > 1000) {
    return;
  }
  const auto session = store->OpenWriter(writer.id, writer.tables, (*table)->created().signature);
  if (session.ok()) {
    const auto rows = static_cast<uint32_t>(std::min<int64_t>(2, (*table)->max_window()));
    const auto tables = static_cast<uint32_t>(writer.tables.size());
    (*session)->Insert((*session)->applied_sequence() + 1,
                       fuzz::ZeroBlock((*table)->created(), writer.chunks, tables, rows),
                       [](const auto& /*result*/) {});
  }
}

void CheckSound(const Table& table) {
  const TablePicture picture = table.picture();
  WAGGLE_CHECK(picture.counts.items >= 0 && picture.counts.draws_left >= 0 && picture.bytes >= 0,
               "nothing is counted below 0");
}

void Use(ReplayStore* store, const std::vector<Resumed>& writers) {
  fuzz::SampleAll(store, /*may_be_damaged=*/true);
  for (const Resumed& writer : writers) {
    GoOn(store, writer);
  }
  for (const std::shared_ptr<Table>& table : store->tables()) {
    GoOn(store, {"new", {table->name()}, {{0, 0, 2, true}}});
    CheckSound(*table);
  }
  fuzz::SampleAll(store, /*may_be_damaged=*/true);
  store->TendWriters(SteadyNow());  // All are away: they release rows that they need not hold.
}

// Only items hold rows now, so an empty table has none.
void Clear(ReplayStore* store) {
  for (const std::shared_ptr<Table>& table : store->tables()) {
    CheckSound(*table);
    table->Clear();
    WAGGLE_CHECK(table->info().items == 0 && table->info().bytes == 0, "an empty table holds no rows");
  }
}

// True if some rows are on disk: they are read on demand.
bool AnyOnDisk(const SavedState& state) {
  return std::any_of(state.tables.begin(), state.tables.end(),
                     [](const SavedTable& table) { return table.tier != nullptr; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // RocksDB must live until the end of the process.
  static fuzz::ScratchDatabase& scratch = *new fuzz::ScratchDatabase;
  fuzz::Input input(data, size);
  const std::shared_ptr<Database> database = scratch.Fill(&input);
  absl::StatusOr<SavedState> state = LoadSavedState(database.get());
  if (!state.ok()) {
    WAGGLE_CHECK(absl::IsDataLoss(state.status()), state.status().ToString());
    return 0;
  }
  const bool on_disk = AnyOnDisk(*state);
  {
    const std::vector<Resumed> writers = WritersOf(*state);
    fuzz::DurableStore replay(database, *std::move(state), scratch.env());
    if (!replay.status().ok()) {
      WAGGLE_CHECK(absl::IsDataLoss(replay.status()), replay.status().ToString());
      return 0;
    }
    Use(replay.store(), writers);
  }
  state = LoadSavedState(database.get());
  WAGGLE_CHECK(state.ok() || on_disk, state.status().ToString());
  if (state.ok()) {
    fuzz::DurableStore replay(database, *std::move(state), scratch.env());
    WAGGLE_CHECK(replay.status().ok(), replay.status().ToString());
    Clear(replay.store());
  }
  return 0;
}

}  // namespace waggle
