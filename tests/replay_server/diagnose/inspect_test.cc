#include "replay_server/diagnose/inspect.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "common/base/check.h"
#include "common/base/tensor/checksum.h"
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

v1::InspectResponse Inspected(const Table& table, const v1::InspectRequest& request) {
  v1::InspectResponse response;
  REQUIRE_OK(Inspect(table, request, &response));
  return response;
}

absl::StatusCode CodeOf(const Table& table, const v1::InspectRequest& request) {
  v1::InspectResponse response;
  return Inspect(table, request, &response).code();
}

v1::InspectRequest ColumnsOf(uint64_t key, uint64_t max_bytes) {
  v1::InspectRequest request;
  request.add_keys(key);
  request.set_columns(true);
  request.set_max_column_bytes(max_bytes);
  return request;
}

void Insert(std::vector<NewItem> items, Table* table) {
  table->Insert(std::move(items), [](const absl::Status& status) { WAGGLE_CHECK(status.ok(), "inserted"); });
}

TEST_CASE("Pages together have all items, in each order, with large tables and small pages", "[unit]") {
  const auto table = Create(20'000);
  std::mt19937 random(3);
  std::vector<NewItem> items;
  for (uint64_t i = 0; i < 12'000; ++i) {
    items.push_back(OneRow(i, static_cast<double>(random() % 50)));  // Many with equal priorities.
  }
  Insert(std::move(items), table.get());
  std::vector<ItemFacts> all;
  uint32_t slot = 0;
  int steps = 1;
  for (; table->Scan(&slot, &all); ++steps) {
  }
  CHECK(steps == 3);  // Steps of 4096 slots, each with its own lock.
  REQUIRE(all.size() == 12'000);
  std::vector<uint64_t> keys;
  std::vector<uint64_t> generations;
  for (size_t i = 0; i < all.size(); i += 3) {  // Holes.
    keys.push_back(all[i].key);
    generations.push_back(all[i].generation);
  }
  table->Delete(keys, generations);
  for (int order = v1::InspectRequest::Order_MIN; order <= v1::InspectRequest::Order_MAX; ++order) {
    v1::InspectRequest request;
    request.set_order(static_cast<v1::InspectRequest::Order>(order));
    request.set_page_size(997);
    std::vector<v1::InspectedItem> seen;
    do {
      const v1::InspectResponse page = Inspected(*table, request);
      CHECK(page.table_items() == 8'000);
      seen.insert(seen.end(), page.items().begin(), page.items().end());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    REQUIRE(seen.size() == 8'000);
    CHECK(std::is_sorted(seen.begin(), seen.end(), [order](const auto& a, const auto& b) {
      switch (order) {
        case v1::InspectRequest::ORDER_NEWEST:
          return a.generation() > b.generation();
        case v1::InspectRequest::ORDER_OLDEST:
          return a.generation() < b.generation();
        case v1::InspectRequest::ORDER_HIGHEST_PRIORITY:
          return a.priority() > b.priority();
        case v1::InspectRequest::ORDER_LOWEST_PRIORITY:
          return a.priority() < b.priority();
        default:
          return a.key() < b.key();
      }
    }));
    std::set<uint64_t> different;
    for (const v1::InspectedItem& item : seen) {
      different.insert(item.key());
    }
    CHECK(different.size() == seen.size());
  }
}

TEST_CASE("An item has its age, its probability and its writer", "[unit]") {
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
  v1::InspectRequest request;
  request.set_order(v1::InspectRequest::ORDER_OLDEST);
  request.set_page_size(3);
  const v1::InspectResponse page = Inspected(*table, request);
  CHECK(page.next_page_token().empty());
  CHECK_FALSE(page.has_statistics());
  REQUIRE(page.items_size() == 3);
  const v1::InspectedItem& first = page.items(0);
  CHECK(first.producer() == "actor-7");
  CHECK(first.policy_version() == 42);
  CHECK(first.priority() == 3);
  CHECK(first.age_inserts() == 2);
  REQUIRE(first.has_age_seconds());
  CHECK(first.age_seconds() >= 0);
  CHECK(first.probability() == 3.0 / 8);
  CHECK(page.items(1).producer().empty());
  CHECK(page.items(2).age_inserts() == 0);

  v1::InspectRequest by_key;
  by_key.add_keys(page.items(2).key());
  by_key.add_keys(77);
  const v1::InspectResponse found = Inspected(*table, by_key);
  REQUIRE(found.items_size() == 1);
  CHECK(found.items(0).generation() == page.items(2).generation());
  REQUIRE(found.unknown_keys_size() == 1);
  CHECK(found.unknown_keys(0) == 77);
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
  v1::InspectRequest request;
  request.set_statistics(true);
  const v1::ItemStatistics statistics = Inspected(*table, request).statistics();
  CHECK(statistics.items() == 6);
  CHECK(statistics.rows() == 6);
  const auto buckets = [](const auto& histogram) {
    std::vector<std::vector<double>> all;
    for (const v1::HistogramBucket& bucket : histogram) {
      all.push_back({bucket.low(), bucket.high(), static_cast<double>(bucket.count())});
    }
    return all;
  };
  CHECK(buckets(statistics.priorities()) ==
        std::vector<std::vector<double>>{{0, 0, 2}, {0.5, 1, 2}, {1, 2, 1}, {2, 4, 1}});
  CHECK(buckets(statistics.times_sampled()) == std::vector<std::vector<double>>{{0, 0, 6}});
  CHECK(statistics.min_priority() == 0);
  CHECK(statistics.max_priority() == 3);
  CHECK(statistics.mean_priority() == Approx(5.25 / 6));
  CHECK(statistics.min_policy_version() == 0);
  CHECK(statistics.max_policy_version() == 50);
  CHECK(statistics.mean_policy_version() == Approx(25));
}

TEST_CASE("The columns of an item have all its rows; columns that are too large are summed up", "[unit]") {
  const auto table = Create(100);
  NewItem item = MakeItem(MakeRows(0, 5, {2, 3}), 1, 3, 1);  // Rows 6 to 9 of two chunks, the first as context.
  item.window.context = 1;
  std::vector<NewItem> items;
  items.push_back(std::move(item));
  Insert(std::move(items), table.get());
  CHECK(CodeOf(*table, ColumnsOf(1, 1000)) == absl::StatusCode::kNotFound);
  v1::InspectResponse response = Inspected(*table, ColumnsOf(0, 1000));
  REQUIRE(response.columns_size() == 2);
  const int64_t ids[] = {6, 7, 8, 9};
  const v1::InspectedColumn& id = response.columns(0);
  CHECK(std::vector<int64_t>(id.spec().shape().begin(), id.spec().shape().end()) == std::vector<int64_t>{4});
  CHECK(id.data() == std::string(reinterpret_cast<const char*>(ids), sizeof(ids)));
  CHECK(id.checksum() == Checksum(ids, sizeof(ids)));
  CHECK(id.min() == 6);
  CHECK(id.max() == 9);
  CHECK(id.mean() == 7.5);
  const v1::InspectedColumn values = response.columns(1);
  CHECK(std::vector<int64_t>(values.spec().shape().begin(), values.spec().shape().end()) == std::vector<int64_t>{4, 2});
  CHECK(values.data().size() == 32);
  CHECK(values.min() == -9);
  response = Inspected(*table, ColumnsOf(0, 40));
  CHECK(response.columns(0).data().size() == 32);
  CHECK(response.columns(1).data().empty());
  CHECK(response.columns(1).checksum() == values.checksum());
  CHECK(response.columns(1).max() == 9);
}

TEST_CASE("The rows of an item are read from disk once for all columns", "[unit]") {
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
  testing::Eventually("the rows leave", [&] { return tier->info().memory_bytes == 0; });
  CHECK(Inspected(*table, ColumnsOf(0, 1000)).columns_size() == 2);
  CHECK(tier->info().reads == 1);
}

TEST_CASE("Too many items, unknown orders and wrong tokens are refused", "[unit]") {
  const auto table = Create(100);
  Insert({OneRow(0)}, table.get());
  v1::InspectRequest request;
  request.set_page_size(kMaxInspectedItems + 1);
  CHECK(CodeOf(*table, request) == absl::StatusCode::kInvalidArgument);
  request.set_page_size(1);
  request.set_order(static_cast<v1::InspectRequest::Order>(9));
  CHECK(CodeOf(*table, request) == absl::StatusCode::kInvalidArgument);
  request.clear_order();
  request.mutable_keys()->Resize(kMaxInspectedItems + 1, 0);
  CHECK(CodeOf(*table, request) == absl::StatusCode::kInvalidArgument);
  request.mutable_keys()->Resize(2, 0);
  request.set_columns(true);
  CHECK(CodeOf(*table, request) == absl::StatusCode::kInvalidArgument);
  request.Clear();
  request.set_page_size(1);
  for (const char* token : {"x", "n-1-2-3", "k-1-2", "k-1-2-g", "k-1-2-3-4", "k-1-2-7ff8000000000000"}) {
    request.set_page_token(token);
    CAPTURE(token);
    CHECK(CodeOf(*table, request) == absl::StatusCode::kInvalidArgument);
  }
  request.set_page_token("k-ffffffffffffffff-1-0");  // Past the end: an empty page.
  CHECK(Inspected(*table, request).items().empty());
}

}  // namespace
}  // namespace waggle
