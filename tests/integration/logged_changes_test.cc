// Every answered change of a logged table is in RocksDB, and is restored from there.

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/base/random.h"
#include "replay_server/batches/pinned_rows.h"
#include "tests/replay_server/storage/durable_replay.h"

namespace waggle::testing {
namespace {

// The state of a table, in values that can be compared.
struct Portrait {
  // By key: generation, priority, times sampled (0 if that is not limited, as it is not saved then), policy version,
  // and the reward in its row.
  std::map<uint64_t, std::tuple<uint64_t, double, uint32_t, uint64_t, float>> items;
  std::vector<int64_t> counts;  // Inserted, sampled, removed; updates applied, stale and unknown.
  double priority_sum = 0;
  TableConfig config;
  uint64_t config_generation = 0;
};

Portrait PortraitOf(const Table& table) {
  Portrait portrait;
  const bool counted = table.config()->max_times_sampled > 0;
  std::vector<ItemFacts> items;
  for (uint32_t slot = 0; table.Scan(&slot, &items);) {
  }
  for (const ItemFacts& facts : items) {
    const auto held = table.Hold(facts.key);
    REQUIRE(held.has_value());
    PinnedRows pinned;
    REQUIRE_OK(pinned.Pin(held->window));
    float reward = 0;
    std::memcpy(&reward, held->window.chunks[0]->Row(table.rows(), 1, held->window.offset), sizeof(reward));
    portrait.items[facts.key] = {facts.generation, facts.priority, counted ? facts.times_sampled : 0,
                                 facts.policy_version, reward};
  }
  const Table::Info info = table.info();
  REQUIRE(info.items == static_cast<int64_t>(portrait.items.size()));
  const PriorityUpdateCounts& updates = info.priority_updates;
  portrait.counts = {info.items_inserted,
                     info.items_sampled,
                     info.items_removed,
                     static_cast<int64_t>(updates.applied),
                     static_cast<int64_t>(updates.stale),
                     static_cast<int64_t>(updates.unknown)};
  portrait.priority_sum = info.priority_sum;
  portrait.config = *info.config;
  portrait.config_generation = info.config_generation;
  return portrait;
}

void CheckSame(const Portrait& now, const Portrait& before) {
  REQUIRE(now.items.size() == before.items.size());
  for (const auto& [key, item] : before.items) {
    CAPTURE(key);
    const auto found = now.items.find(key);
    REQUIRE(found != now.items.end());
    CHECK(found->second == item);
  }
  CHECK(now.counts == before.counts);
  CHECK(now.priority_sum == Approx(before.priority_sum));
  CHECK(absl::StrJoin(Differences(now.config, before.config), "; ") == "");
  CHECK(now.config_generation == before.config_generation);
}

TableConfig PrioritizedTable() {
  TableConfig config = DurableTable("t", Durability::kLog);
  config.sampler.kind = SelectorKind::kPrioritized;
  config.sampler.priority_exponent = 1;
  config.max_items = 20;
  return config;
}

// A store with one logged table and one writer, which crashes.
class Logged {
 public:
  explicit Logged(const TableConfig& config) {
    Open();
    REQUIRE(ValueOf(replay_->store->CreateTable(config)));
    OpenTable();
  }

  Table& table() { return *table_; }
  ReplayStore& store() { return *replay_->store; }

  // Returns when the rows are durable.
  void Insert(uint32_t rows) {
    const auto row = static_cast<uint64_t>(row_);
    row_ += rows;
    InsertBlock block = SimpleBlock(row, rows);
    block.policy_version = 7 + row;
    REQUIRE_OK(AwaitInsert(session_.get(), session_->progress().sequence + 1, std::move(block)));
  }
  void Commit() { REQUIRE_OK(AwaitCommit(*table_)); }

  // All changes must be answered: the next server finds them.
  void CrashAndCompare() {
    const Portrait before = PortraitOf(*table_);
    const std::string crashed = folder_.File(std::to_string(crashes_ + 1));
    CopyAfterCrash(folder_.File(std::to_string(crashes_)), crashed);
    session_ = nullptr;
    table_ = nullptr;
    replay_ = nullptr;
    ++crashes_;
    Open();
    OpenTable();
    CheckSame(PortraitOf(*table_), before);
  }

  std::vector<Table::ItemAddress> Addresses() const {
    std::vector<Table::ItemAddress> items;
    REQUIRE(!table_->ListItems(0, 10'000, &items));
    return items;
  }

 private:
  void Open() { replay_ = std::make_unique<DurableReplay>(OpenReplay(folder_.File(std::to_string(crashes_)))); }
  void OpenTable() {
    table_ = ValueOf(replay_->store->FindTable("t"));
    session_ = ValueOf(replay_->store->OpenWriter("w", {"t"}, table_->created().signature));
    REQUIRE_OK(session_->Claim(7));
  }

  const TemporaryFolder folder_;
  int crashes_ = 0;
  int64_t row_ = 0;
  std::unique_ptr<DurableReplay> replay_;
  std::shared_ptr<Table> table_;
  std::shared_ptr<WriterSession> session_;
};

void ChangeAtRandom(Logged* logged, Rng* rng) {
  const std::vector<Table::ItemAddress> items = logged->Addresses();
  std::vector<uint64_t> keys;
  std::vector<uint64_t> generations;
  std::vector<double> priorities;
  for (uint64_t i = rng->UniformInt(5); i > 0 && !items.empty(); --i) {
    const Table::ItemAddress& item = items[rng->UniformInt(items.size())];
    keys.push_back(item.slot);
    generations.push_back(item.generation - rng->UniformInt(2));
    priorities.push_back(static_cast<double>(rng->UniformInt(6)));
  }
  switch (rng->UniformInt(8)) {
    case 0:
    case 1:
      logged->Insert(1 + static_cast<uint32_t>(rng->UniformInt(6)));
      return;
    case 2:
    case 3:
      REQUIRE_OK(logged->table().UpdatePriorities(keys, generations, priorities));
      return;
    case 4:
      logged->table().Delete(keys, generations);
      return;
    case 5:
      if (!items.empty()) {
        const auto layout =
            std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(logged->table().created(), 3, 1 << 20)));
        logged->table().Sample(layout, 3, [](const auto& /*batch*/) {});
      }
      return;
    case 6: {
      TableConfig config = *logged->table().config();
      config.max_items = 5 + static_cast<int64_t>(rng->UniformInt(30));
      config.max_times_sampled = static_cast<int64_t>(rng->UniformInt(4));
      config.sampler.priority_exponent = 0.5 * static_cast<double>(rng->UniformInt(3));
      REQUIRE_OK(logged->store().Reconfigure(config, logged->table().info().config_generation, false));
      return;
    }
    default:
      if (rng->UniformInt(4) == 0) {
        logged->table().Clear();
      }
  }
}

TEST_CASE("a logged table is unchanged after each of many crashes between random changes", "[unit]") {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    TableConfig config = PrioritizedTable();
    config.remover.kind = seed == 2 ? SelectorKind::kMinHeap : SelectorKind::kFifo;
    Logged logged(config);
    for (int crash = 0; crash < 8; ++crash) {
      for (uint64_t i = 1 + rng.UniformInt(25); i > 0; --i) {
        ChangeAtRandom(&logged, &rng);
      }
      logged.Commit();
      logged.CrashAndCompare();
    }
  }
}

}  // namespace
}  // namespace waggle::testing
