#include "replay_server/table/table.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/threads/thread.h"
#include "tests/replay_server/table/table_answers.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::Answers;
using testing::Items;
using testing::LayoutFor;
using testing::MakeRows;
using testing::NewTable;
using testing::OneRow;
using testing::SmallTable;

std::vector<int64_t> Integers(const SampledBatch& batch, absl::string_view field, size_t count) {
  const auto* values = static_cast<const int64_t*>(batch.Data(field));
  return std::vector<int64_t>(values, values + count);
}

// A queue: items are sampled once, in order.
TableConfig Queue() {
  TableConfig config = SmallTable();
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 1;
  return config;
}

// The limiter lets in four items more than were sampled.
TableConfig Limited() {
  TableConfig config = Queue();
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.min_items = 1;
  config.rate_limiter.error_buffer = 3;
  return config;
}

}  // namespace

TEST_CASE("a table refuses a wrong configuration", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 0;
  REQUIRE_CODE(Table::Create(config, 1), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("inserted items are sampled", "[unit]") {
  const TableConfig config = Queue();
  const auto table = NewTable(config);
  Answers answers;
  table->Insert(Items(10, 3), answers.OnInsert("insert"));
  REQUIRE(table->Sample(LayoutFor(config, 3), 3, answers.OnSample("sample")) == 0);
  REQUIRE(answers.order == std::vector<std::string>{"insert", "sample"});
  REQUIRE_OK(answers.inserts[0]);
  REQUIRE_OK(answers.samples[0]);
  REQUIRE(Integers(*answers.samples[0], "first_id", 3) == std::vector<int64_t>{10, 11, 12});
  REQUIRE(answers.samples[0]->table_items == 3);
  const Table::Info info = table->info();
  REQUIRE(info.items == 0);
  REQUIRE(info.items_inserted == 3);
  REQUIRE(info.items_sampled == 3);
  REQUIRE(info.items_removed == 3);
}

TEST_CASE("an insert goes in as far as the limiter allows, and the rest waits for its turn", "[unit]") {
  const TableConfig config = Limited();
  const auto table = NewTable(config);
  Answers answers;
  table->Insert(Items(0, 6), answers.OnInsert("first"));
  table->Insert(Items(6, 1), answers.OnInsert("second"));
  REQUIRE(answers.order.empty());
  REQUIRE(table->info().items == 4);
  REQUIRE(table->info().inserts_waiting == 2);
  REQUIRE(absl::StrContains(table->info().blocked_because, "inserts wait for 1 more samples"));
  table->Sample(LayoutFor(config, 1), 1, answers.OnSample("sample 0"));
  REQUIRE(answers.order == std::vector<std::string>{"sample 0"});
  table->Sample(LayoutFor(config, 2), 2, answers.OnSample("sample 1"));
  // The sample made room for the rest of the first insert, and then for the second.
  REQUIRE(answers.order == std::vector<std::string>{"sample 0", "sample 1", "first", "second"});
  REQUIRE(table->info().inserts_waiting == 0);
  REQUIRE(table->info().blocked_because.empty());
  REQUIRE(Integers(*answers.samples[1], "first_id", 2) == std::vector<int64_t>{1, 2});
}

TEST_CASE("a writer of single items does not wait for another writer's whole block", "[unit]") {
  const TableConfig config = Limited();
  const auto table = NewTable(config);
  Answers answers;
  const auto large = table->clients()->Add(TableClient::Kind::kWriter, "large");
  const auto small = table->clients()->Add(TableClient::Kind::kWriter, "small");
  table->Insert(Items(0, 50'000), answers.OnInsert("large"), large);
  table->Insert(Items(90'000, 1), answers.OnInsert("small"), small);
  REQUIRE(small->items() == 0);
  int64_t samples = 0;
  while (small->items() == 0 && samples < 1'000) {
    table->Sample(LayoutFor(config, 1), 1, answers.OnSample("sample"));
    ++samples;
  }
  // Four items were let in before the other writer came.
  CHECK(samples == WaitingInserts::kTurnItems + 1);
  CHECK(large->items() == WaitingInserts::kTurnItems + 4);
  CHECK(std::count(answers.order.begin(), answers.order.end(), "small") == 1);
  CHECK(std::count(answers.order.begin(), answers.order.end(), "large") == 0);
}

TEST_CASE("waiting samplers are served as items come, with half of the items for the first sampler", "[unit]") {
  const TableConfig config = Queue();
  const auto table = NewTable(config);
  Answers answers;
  REQUIRE(table->Sample(LayoutFor(config, 3), 3, answers.OnSample("large")) != 0);
  REQUIRE(table->Sample(LayoutFor(config, 1), 1, answers.OnSample("small")) != 0);
  REQUIRE(table->Sample(LayoutFor(config, 1), 1, answers.OnSample("small")) != 0);
  REQUIRE(absl::StrContains(table->info().blocked_because, "samples wait for 1 more items"));
  table->Insert(Items(0, 2), answers.OnInsert("insert"));
  REQUIRE(answers.order == std::vector<std::string>{"insert", "small"});
  CHECK(absl::StrContains(table->info().blocked_because, "set aside for a batch of 3"));
  table->Insert(Items(2, 3), answers.OnInsert("insert"));
  REQUIRE(answers.order == std::vector<std::string>{"insert", "small", "insert", "large", "small"});
  REQUIRE(Integers(*answers.samples[0], "first_id", 1) == std::vector<int64_t>{0});
  REQUIRE(Integers(*answers.samples[1], "first_id", 3) == std::vector<int64_t>{1, 2, 3});
  REQUIRE(Integers(*answers.samples[2], "first_id", 1) == std::vector<int64_t>{4});
}

TEST_CASE("a cancelled request is answered once and lets others go on", "[unit]") {
  const TableConfig config = Queue();
  const auto table = NewTable(config);
  Answers answers;
  const uint64_t large = table->Sample(LayoutFor(config, 3), 3, answers.OnSample("large"));
  table->Sample(LayoutFor(config, 1), 1, answers.OnSample("small"));
  table->Insert(Items(0, 1), answers.OnInsert("insert"));
  table->CancelSample(large);
  REQUIRE(answers.order == std::vector<std::string>{"insert", "small", "large"});
  REQUIRE_OK(answers.samples[0]);
  REQUIRE_CODE(answers.samples[1], absl::StatusCode::kCancelled);
  table->CancelSample(large);
  REQUIRE(answers.order.size() == 3);
}

TEST_CASE("a closed table answers waiting and new calls", "[unit]") {
  const TableConfig config = Limited();
  const auto table = NewTable(config);
  Answers answers;
  table->Insert(Items(0, 9), answers.OnInsert("waits"));
  const auto other = NewTable(Queue());
  other->Sample(LayoutFor(Queue(), 1), 1, answers.OnSample("waits"));
  table->Close();
  other->Close();
  table->Insert(Items(0, 1), answers.OnInsert("comes"));
  REQUIRE(other->Sample(LayoutFor(Queue(), 1), 1, answers.OnSample("comes")) == 0);
  REQUIRE(answers.order == std::vector<std::string>{"waits", "waits", "comes", "comes"});
  for (const absl::Status& status : answers.inserts) {
    REQUIRE_CODE(status, absl::StatusCode::kCancelled);
  }
  for (const auto& batch : answers.samples) {
    REQUIRE_CODE(batch, absl::StatusCode::kCancelled);
  }
}

TEST_CASE("a batch that can never be sampled is refused at once", "[unit]") {
  const TableConfig config = Limited();
  const auto table = NewTable(config);
  Answers answers;
  REQUIRE(table->Sample(LayoutFor(config, 6), 6, answers.OnSample("too large")) == 0);
  REQUIRE_CODE(answers.samples[0], absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(answers.samples[0].status().message(), "error_buffer"));
  REQUIRE(table->Sample(LayoutFor(config, 2), 1, answers.OnSample("layout")) == 0);
  REQUIRE_CODE(answers.samples[1], absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a bad priority refuses the whole update", "[unit]") {
  const TableConfig config = SmallTable();
  const auto table = NewTable(config);
  Answers answers;
  table->Insert(Items(0, 2), answers.OnInsert("insert"));
  table->Sample(LayoutFor(config, 1), 1, answers.OnSample("sample"));
  const auto key = static_cast<uint64_t>(Integers(*answers.samples[0], kItemKey, 1)[0]);
  const auto generation = static_cast<uint64_t>(Integers(*answers.samples[0], kItemGeneration, 1)[0]);
  for (const double bad : {-1.0, std::nan("")}) {
    REQUIRE_CODE(table->UpdatePriorities({key, key}, {generation, generation}, {5.0, bad}),
                 absl::StatusCode::kInvalidArgument);
  }
  REQUIRE_CODE(table->UpdatePriorities({key}, {generation, generation}, {5.0}), absl::StatusCode::kInvalidArgument);
  REQUIRE(table->info().priority_sum == 2);
  REQUIRE(testing::ValueOf(table->UpdatePriorities({key}, {generation}, {5.0})).applied == 1);
  REQUIRE(table->info().priority_sum == 6);
  REQUIRE(table->info().priority_updates.applied == 1);
}

TEST_CASE("deleting and clearing make room for inserts that wait", "[unit]") {
  TableConfig config = Limited();
  config.max_times_sampled = 0;
  const auto table = NewTable(config);
  Answers answers;
  table->Insert(Items(0, 5), answers.OnInsert("insert"));
  REQUIRE(answers.order.empty());
  REQUIRE(table->Clear() == 4);
  REQUIRE(answers.order == std::vector<std::string>{"insert"});
  REQUIRE(table->info().items == 1);
}

TEST_CASE("callbacks may call back into the table, however often", "[unit]") {
  TableConfig config = SmallTable();
  const auto table = NewTable(config);
  const auto layout = LayoutFor(config, 1);
  int batches = 0;
  // Each answer requests the next batch, which must not recurse.
  Table::SampleDone again = [&](absl::StatusOr<SampledBatch> batch) {
    if (batch.ok() && ++batches < 100000) {
      table->Sample(layout, 1, again);
    }
  };
  table->Sample(layout, 1, again);
  int inserts = 0;
  table->Insert(Items(0, 1), [&](const absl::Status&) {
    ++inserts;
    table->Insert(Items(1, 1), [&](const absl::Status&) { ++inserts; });
    table->Clear();
  });
  REQUIRE(batches > 0);
  REQUIRE(inserts == 2);
}

TEST_CASE("inserts, samples, updates and clearing at the same time lose nothing", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 50;
  config.max_times_sampled = 3;
  config.rate_limiter.samples_per_insert = 2;
  config.rate_limiter.error_buffer = 40;
  const auto table = NewTable(config);
  const auto layout = LayoutFor(config, 8);
  constexpr int kInserters = 2;
  constexpr int kInserts = 400;
  std::atomic<int64_t> inserted{0};
  std::atomic<int64_t> insert_errors{0};
  std::atomic<int64_t> batches{0};
  std::atomic<int64_t> torn_rows{0};
  std::atomic<bool> done{false};
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back("sampler", [&] {
        Mutex mutex;
        CondVar answered;
        while (!done) {
          bool waiting = true;
          table->Sample(layout, 8, [&](absl::StatusOr<SampledBatch> batch) {
            if (batch.ok()) {
              ++batches;
              const auto* ids = static_cast<const int64_t*>(batch->Data("first_id"));
              const auto* pairs = static_cast<const float*>(batch->Data("last_pair"));
              std::vector<uint64_t> keys(8);
              std::vector<uint64_t> generations(8);
              std::memcpy(keys.data(), batch->Data(kItemKey), 64);
              std::memcpy(generations.data(), batch->Data(kItemGeneration), 64);
              for (int k = 0; k < 8; ++k) {
                torn_rows += pairs[2 * k] != static_cast<float>(ids[k]) || pairs[2 * k + 1] != -pairs[2 * k];
              }
              const std::vector<double> priorities(8, 2.0);
              torn_rows += !table->UpdatePriorities(keys, generations, priorities).ok();
            }
            MutexLock lock(&mutex);
            waiting = false;
            answered.Signal();
          });
          MutexLock lock(&mutex);
          while (waiting) {
            answered.Wait(&mutex);
          }
        }
      });
    }
    threads.emplace_back("clearer", [&] {
      for (int i = 0; i < 50; ++i) {
        table->Clear();
        const Table::Info info = table->info();
        insert_errors += info.items_inserted != info.items + info.items_removed;
      }
    });
    {
      std::vector<Thread> inserters;
      for (int i = 0; i < kInserters; ++i) {
        inserters.emplace_back("inserter", [&, i] {
          Mutex mutex;
          CondVar answered;
          for (int k = 0; k < kInserts; ++k) {
            bool waiting = true;
            table->Insert(Items(static_cast<uint64_t>(i * kInserts + k), 5), [&](const absl::Status& status) {
              insert_errors += !status.ok();
              inserted += 5;
              MutexLock lock(&mutex);
              waiting = false;
              answered.Signal();
            });
            MutexLock lock(&mutex);
            while (waiting) {
              answered.Wait(&mutex);
            }
          }
        });
      }
    }
    done = true;
    table->Close();
  }
  const Table::Info info = table->info();
  REQUIRE(insert_errors == 0);
  REQUIRE(torn_rows == 0);
  REQUIRE(batches > 0);
  REQUIRE(inserted == kInserters * kInserts * 5);
  REQUIRE(info.items_inserted == inserted);
  REQUIRE(info.items_inserted == info.items + info.items_removed);
  REQUIRE(info.inserts_waiting == 0);
}

TEST_CASE("a table's limits can be changed while it is in use, and waiting calls go on", "[unit]") {
  TableConfig config = SmallTable();
  config.rate_limiter.min_items = 3;
  const auto table = NewTable(config);
  Answers answers;
  table->Insert(Items(0, 2), answers.OnInsert("insert"));
  table->Sample(LayoutFor(config, 2), 2, answers.OnSample("sample"));
  REQUIRE(answers.samples.empty());
  TableConfig changed = config;
  changed.rate_limiter.min_items = 2;
  changed.sampler.priority_exponent = 0.5;
  const auto dry = testing::ValueOf(table->Reconfigure(changed, 1, /*dry_run=*/true));
  REQUIRE(dry.differences.size() == 2);
  REQUIRE(dry.generation == 1);
  REQUIRE(answers.samples.empty());
  const auto done = testing::ValueOf(table->Reconfigure(changed, 1, /*dry_run=*/false));
  REQUIRE(done.differences == dry.differences);
  REQUIRE(done.generation == 2);
  REQUIRE(answers.samples.size() == 1);
  REQUIRE(answers.samples[0].ok());
  REQUIRE(Differences(*table->config(), changed).empty());
  REQUIRE(Differences(table->created(), config).empty());
  // A change of an earlier configuration.
  const absl::Status late = table->Reconfigure(config, 1, false).status();
  REQUIRE_CODE(late, absl::StatusCode::kAborted);
  REQUIRE(absl::StrContains(late.message(), "generation 1"));
  // Nothing changes, and the generation stays.
  REQUIRE(testing::ValueOf(table->Reconfigure(changed, 2, false)).generation == 2);
}

TEST_CASE("a dry run returns what the rate limiter would allow, and the change allows it", "[unit]") {
  TableConfig config = SmallTable();
  config.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/1, /*error_buffer=*/4};
  const auto table = NewTable(config);
  Answers answers;
  for (int i = 0; i < 200; ++i) {
    table->Insert(Items(i, 1), answers.OnInsert("insert"));
    table->Sample(LayoutFor(config, 1), 1, answers.OnSample("sample"));
  }
  REQUIRE(answers.samples.size() == 200);
  TableConfig changed = config;
  changed.rate_limiter.samples_per_insert = 64;
  changed.rate_limiter.error_buffer = 640;
  const auto dry = testing::ValueOf(table->Reconfigure(changed, 1, /*dry_run=*/true));
  const auto done = testing::ValueOf(table->Reconfigure(changed, 1, /*dry_run=*/false));
  CHECK(dry.samples_allowed == done.samples_allowed);
  CHECK(dry.inserts_allowed == done.inserts_allowed);
  CHECK(done.waits.empty());
  CHECK(done.samples_allowed == 640 - 1);  // The difference stays 1 below the middle of the bounds.
  for (int i = 0; i < static_cast<int>(done.inserts_allowed); ++i) {
    table->Insert(Items(i, 1), answers.OnInsert("insert"));
  }
  CHECK(table->info().inserts_waiting == 0);
  table->Insert(Items(0, 1), answers.OnInsert("insert"));
  CHECK(table->info().inserts_waiting == 1);
  TableConfig narrow = changed;
  narrow.max_items = 200;
  narrow.rate_limiter.min_items = 150;
  CHECK(testing::ValueOf(table->Reconfigure(narrow, 2, /*dry_run=*/true)).waits.size() == 1);
}

TEST_CASE("changes of fixed settings are refused, with their names", "[unit]") {
  const TableConfig config = SmallTable();
  const auto table = NewTable(config);
  TableConfig changed = config;
  changed.max_window = 9;
  changed.max_items = 5;
  const absl::Status refused = table->Reconfigure(changed, 1, false).status();
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(refused.message(), "max_window: 4 and 9"));
  REQUIRE_FALSE(absl::StrContains(refused.message(), "max_items"));
  changed = config;
  changed.max_items = 0;
  REQUIRE_CODE(table->Reconfigure(changed, 1, false).status(), absl::StatusCode::kInvalidArgument);
  REQUIRE(table->config()->max_items == config.max_items);
}

TEST_CASE("a batch that waits and can never come after a change is refused", "[unit]") {
  TableConfig config = SmallTable();
  config.sampler.without_replacement = true;
  const auto table = NewTable(config);
  Answers answers;
  table->Sample(LayoutFor(config, 50), 50, answers.OnSample("large"));
  table->Insert(Items(0, 30), answers.OnInsert("insert"));
  REQUIRE(answers.samples.empty());
  config.max_items = 20;
  const auto done = testing::ValueOf(table->Reconfigure(config, 1, false));
  REQUIRE(done.items_removed == 10);
  REQUIRE(table->info().items == 20);
  REQUIRE(answers.samples.size() == 1);
  REQUIRE_CODE(answers.samples[0].status(), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a draw counts the number in its request, independently of its items", "[unit]") {
  TableConfig config = SmallTable();
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.min_difference = -4;
  config.rate_limiter.max_difference = 100;
  const auto table = NewTable(config);
  Answers answers;
  table->Insert(Items(0, 2), answers.OnInsert("insert"));
  std::vector<double> allowed;
  const auto draw = [&](int64_t items, int64_t counted) {
    const auto layout = items == 0 ? std::make_shared<const BatchLayout>() : LayoutFor(config, items);
    const size_t bytes = layout->total_bytes;
    table->Draw(layout, {items, counted}, [&allowed, bytes, items](absl::StatusOr<DrawnBatch> drawn) {
      const SampledBatch batch = testing::ValueOf(testing::ValueOf(drawn).Gather(AllocateBytes(bytes)));
      REQUIRE(batch.table_items == (allowed.size() < 5 ? 2 : 3));
      REQUIRE(batch.priority_sum == static_cast<double>(batch.table_items));
      REQUIRE((items == 0 || batch.Data(kItemKey) != nullptr));
      allowed.push_back(batch.samples_allowed);
    });
  };
  draw(0, 0);  // Only polls.
  draw(3, 1);
  draw(0, 2);
  draw(1, 3);
  REQUIRE(allowed == std::vector<double>{6, 5, 3, 0});
  REQUIRE(table->info().items_sampled == 6);
  draw(2, 0);  // It counts nothing, so it does not wait.
  draw(1, 1);
  REQUIRE(allowed.size() == 5);
  table->Insert(Items(2, 1), answers.OnInsert("insert"));
  REQUIRE(allowed.size() == 6);
}

TEST_CASE("a draw that counts more than the limiter can ever allow is refused, also after a change", "[unit]") {
  TableConfig config = SmallTable();
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.error_buffer = 50;  // Room for 99 samples and an insert.
  const auto table = NewTable(config);
  std::vector<absl::StatusCode> ended;
  const auto draw = [&](int64_t items, int64_t counted) {
    const auto layout = items == 0 ? std::make_shared<const BatchLayout>() : LayoutFor(config, items);
    return table->Draw(layout, {items, counted},
                       [&ended](const absl::StatusOr<DrawnBatch>& drawn) { ended.push_back(drawn.status().code()); });
  };
  REQUIRE(draw(0, 100) == 0);
  REQUIRE(draw(3, int64_t{0xFFFFFFFF}) == 0);
  REQUIRE(ended == std::vector<absl::StatusCode>(2, absl::StatusCode::kFailedPrecondition));
  REQUIRE(draw(0, 99) != 0);
  REQUIRE(draw(3, 99) != 0);
  REQUIRE(draw(3, 3) != 0);
  REQUIRE(ended.size() == 2);
  config.rate_limiter.error_buffer = 49;
  REQUIRE_OK(table->Reconfigure(config, 1, false));
  REQUIRE(ended == std::vector<absl::StatusCode>(4, absl::StatusCode::kFailedPrecondition));
  REQUIRE(table->info().samples_waiting == 1);
  table->Close();
}

}  // namespace waggle
