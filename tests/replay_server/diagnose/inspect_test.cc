#include "replay_server/diagnose/inspect.h"

#include <algorithm>
#include <random>
#include <vector>

#include "common/base/check.h"
#include "common/tensor/checksum.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::MakeItem;
using testing::MakeRows;
using testing::OneRow;
using testing::SmallTable;
using testing::ValueOf;

std::shared_ptr<Table> Create(int64_t max_items) {
  TableConfig config = SmallTable();
  config.max_items = max_items;
  return ValueOf(Table::Create(config, 1));
}

void Insert(std::vector<NewItem> items, Table* table) {
  table->Insert(std::move(items), [](const absl::Status& status) { WAGGLE_CHECK(status.ok(), "inserted"); });
}

TEST_CASE("Pages put together are all items, in each order, however large the table and small the page", "[unit]") {
  const auto table = Create(20'000);
  std::mt19937 random(3);
  std::vector<NewItem> items;
  for (uint64_t i = 0; i < 12'000; ++i) {
    items.push_back(OneRow(i, static_cast<double>(random() % 50)));  // Many of one priority.
  }
  Insert(std::move(items), table.get());
  std::vector<ItemFacts> all;
  uint32_t slot = 0;
  int steps = 1;
  for (; table->Scan(&slot, &all); ++steps) {
  }
  CHECK(steps == 3);  // Of 4096 slots, each under the lock by itself.
  REQUIRE(all.size() == 12'000);
  std::vector<uint64_t> keys;
  std::vector<uint64_t> generations;
  for (size_t i = 0; i < all.size(); i += 3) {  // Holes.
    keys.push_back(all[i].key);
    generations.push_back(all[i].generation);
  }
  table->Delete(keys, generations);
  for (const ItemOrder order : {ItemOrder::kKey, ItemOrder::kNewest, ItemOrder::kOldest, ItemOrder::kHighestPriority,
                                ItemOrder::kLowestPriority}) {
    InspectRequest request;
    request.order = order;
    request.page_size = 997;
    std::vector<ItemFacts> seen;
    do {
      const Inspection page = ValueOf(Inspect(*table, request));
      CHECK(page.table_items == 8'000);
      for (const InspectedItem& item : page.items) {
        seen.push_back(item.facts);
      }
      request.page_token = page.next_page_token;
    } while (!request.page_token.empty());
    REQUIRE(seen.size() == 8'000);
    CHECK(std::is_sorted(seen.begin(), seen.end(), [order](const ItemFacts& a, const ItemFacts& b) {
      switch (order) {
        case ItemOrder::kKey:
          return a.key < b.key;
        case ItemOrder::kNewest:
          return a.generation > b.generation;
        case ItemOrder::kOldest:
          return a.generation < b.generation;
        case ItemOrder::kHighestPriority:
          return a.priority > b.priority;
        default:
          return a.priority < b.priority;
      }
    }));
    std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    CHECK(std::adjacent_find(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.key == b.key; }) ==
          seen.end());
  }
}

TEST_CASE("An item is told with its age, its probability and its writer", "[unit]") {
  const auto table = Create(100);
  const auto layout = std::make_shared<RowLayout>(SmallTable().signature, std::vector<Codec>{}, "actor-7");
  const NewBlock block = MakeChunks(layout, {1}, 1);
  std::memset(block.data, 0, layout->row_bytes);
  NewItem item = MakeItem(block.chunks, 0, 1, 3);
  item.policy_version = 42;
  std::vector<NewItem> items;
  items.push_back(std::move(item));
  items.push_back(OneRow(1, 1));
  items.push_back(OneRow(2, 4));
  Insert(std::move(items), table.get());
  InspectRequest request;
  request.order = ItemOrder::kOldest;
  request.page_size = 3;
  Inspection page = ValueOf(Inspect(*table, request));
  CHECK(page.next_page_token.empty());
  REQUIRE(page.items.size() == 3);
  const InspectedItem& first = page.items[0];
  CHECK(first.producer == "actor-7");
  CHECK(first.facts.policy_version == 42);
  CHECK(first.facts.priority == 3);
  CHECK(first.age_inserts == 2);
  REQUIRE(first.age.has_value());
  CHECK(*first.age >= absl::ZeroDuration());
  CHECK(*first.probability == 3.0 / 8);
  CHECK(page.items[1].producer.empty());
  CHECK(page.items[2].age_inserts == 0);

  InspectRequest by_key;
  by_key.keys = {page.items[2].facts.key, 77};
  const Inspection found = ValueOf(Inspect(*table, by_key));
  REQUIRE(found.items.size() == 1);
  CHECK(found.items[0].facts.generation == page.items[2].facts.generation);
  CHECK(found.unknown_keys == std::vector<uint64_t>{77});
}

TEST_CASE("Statistics count every item once", "[unit]") {
  const auto table = Create(100);
  std::vector<NewItem> items;
  const double priorities[] = {0, 0, 0.5, 0.75, 1, 3};
  for (size_t i = 0; i < 6; ++i) {
    items.push_back(OneRow(i, priorities[i]));
    items.back().policy_version = 10 * i;
  }
  Insert(std::move(items), table.get());
  InspectRequest request;
  request.statistics = true;
  const ItemStatistics statistics = ValueOf(Inspect(*table, request)).statistics;
  CHECK(statistics.items == 6);
  CHECK(statistics.rows == 6);
  CHECK(statistics.priorities == std::map<int, int64_t>{{ItemStatistics::kZero, 2}, {0, 2}, {1, 1}, {2, 1}});
  CHECK(statistics.times_sampled == std::map<int, int64_t>{{ItemStatistics::kZero, 6}});
  CHECK(statistics.min_priority == 0);
  CHECK(statistics.max_priority == 3);
  CHECK(statistics.mean_priority == Approx(5.25 / 6));
  CHECK(statistics.min_policy_version == 0);
  CHECK(statistics.max_policy_version == 50);
  CHECK(statistics.mean_policy_version == Approx(25));
}

TEST_CASE("The columns of an item are all its rows, and those that are too large are summed up", "[unit]") {
  const auto table = Create(100);
  NewItem item = MakeItem(MakeRows(0, 5, {2, 3}), 1, 3, 1);  // Rows 6 to 9 of two chunks, the first as context.
  item.window.context = 1;
  std::vector<NewItem> items;
  items.push_back(std::move(item));
  Insert(std::move(items), table.get());
  const auto held = table->Hold(0);
  REQUIRE(held.has_value());
  CHECK_FALSE(table->Hold(1).has_value());
  std::vector<InspectedColumn> columns = ValueOf(InspectColumns(*table, held->window, 1000));
  REQUIRE(columns.size() == 2);
  CHECK(columns[0].spec.shape == std::vector<int64_t>{4});
  const int64_t ids[] = {6, 7, 8, 9};
  CHECK(columns[0].data == std::string(reinterpret_cast<const char*>(ids), sizeof(ids)));
  CHECK(columns[0].checksum == Checksum(ids, sizeof(ids)));
  CHECK(columns[0].min == 6);
  CHECK(columns[0].max == 9);
  CHECK(columns[0].mean == 7.5);
  CHECK(columns[1].spec.shape == std::vector<int64_t>{4, 2});
  CHECK(columns[1].data.size() == 32);
  CHECK(columns[1].min == -9);
  const uint64_t checksum = columns[1].checksum;
  columns = ValueOf(InspectColumns(*table, held->window, 40));
  CHECK(columns[0].data.size() == 32);
  CHECK(columns[1].data.empty());
  CHECK(columns[1].checksum == checksum);
  CHECK(columns[1].max == 9);
}

TEST_CASE("The rows of an item are read from the disk once for all columns", "[unit]") {
  ChunkTiers tiers(std::make_shared<testing::FakeColdRows>());
  TableConfig config = SmallTable();
  config.memory_limit = 1;
  const auto tier = tiers.New(config.name, config.memory_limit);
  const auto table = ValueOf(Table::Create(config, 1, nullptr, nullptr, tier));
  const auto layout = std::make_shared<const RowLayout>(config.signature);
  NewBlock made = MakeChunks(layout, std::vector<uint32_t>{2}, 1, {}, {nullptr, false, tier});
  std::fill(made.data, made.data + made.bytes, '\0');
  std::vector<NewItem> items;
  items.push_back(MakeItem(made.chunks, 0, 2));
  made = NewBlock();
  Insert(std::move(items), table.get());
  const auto held = table->Hold(0);
  REQUIRE(held.has_value());
  testing::Eventually("the rows leave", [&] { return tier->info().memory_bytes == 0; });
  CHECK(ValueOf(InspectColumns(*table, held->window, 1000)).size() == 2);
  CHECK(tier->info().reads == 1);
}

TEST_CASE("Too many items, and tokens that are none, are refused", "[unit]") {
  const auto table = Create(100);
  Insert({OneRow(0)}, table.get());
  InspectRequest request;
  request.page_size = kMaxInspectedItems + 1;
  REQUIRE_CODE(Inspect(*table, request).status(), absl::StatusCode::kInvalidArgument);
  request.page_size = 1;
  request.keys.resize(kMaxInspectedItems + 1);
  REQUIRE_CODE(Inspect(*table, request).status(), absl::StatusCode::kInvalidArgument);
  request.keys.clear();
  for (const char* token : {"x", "n-1-2-3", "k-1-2", "k-1-2-g", "k-1-2-3-4", "k-1-2-7ff8000000000000"}) {
    request.page_token = token;
    CAPTURE(token);
    REQUIRE_CODE(Inspect(*table, request).status(), absl::StatusCode::kInvalidArgument);
  }
  request.page_token = "k-ffffffffffffffff-1-0";  // Past the end: an empty page.
  CHECK(ValueOf(Inspect(*table, request)).items.empty());
}

}  // namespace
}  // namespace waggle
