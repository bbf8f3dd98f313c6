#include "replay_server/items/table_state.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/random.h"
#include "replay_server/batches/put_field.h"
#include "replay_server/rows/chunk_tier.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/replay_server/table/play_both.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

using testing::FirstId;
using testing::kSmallRowBytes;
using testing::MakeItem;
using testing::MakeRows;
using testing::OneRow;
using testing::SmallTable;

std::vector<int64_t> FirstIds(const RemovedRows& removed) {
  std::vector<int64_t> ids;
  for (const WindowChunks& chunks : removed) {
    ids.push_back(FirstId({chunks, 0, 1, 0}));
  }
  return ids;
}

// What Table does; what was in it is freed here.
int64_t Clear(TableState* state, const TableConfig& config) {
  TableState::Contents contents(config);
  return state->Clear(&contents);
}

PriorityUpdateCounts UpdateOne(TableState* state, const SampledItem& item, double priority) {
  return state->UpdatePriorities(absl::MakeConstSpan(&item.key, 1), absl::MakeConstSpan(&item.generation, 1),
                                 absl::MakeConstSpan(&priority, 1));
}

}  // namespace

TEST_CASE("past max_items the oldest items leave", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 3;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; i < 5; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  REQUIRE(FirstIds(removed) == std::vector<int64_t>{0, 1});
  REQUIRE(state.items() == 3);
  REQUIRE(state.items_inserted() == 5);
  REQUIRE(state.items_removed() == 2);
  REQUIRE(state.PrioritySum() == 3);
}

TEST_CASE("what may be sampled is bounded by the times that items may be", "[unit]") {
  TableConfig config = SmallTable();
  config.max_times_sampled = 2;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; i < 3; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  CHECK(state.Sample({0, 0}, &removed).samples_allowed == 6);
  CHECK(state.Sample({4, 4}, &removed).samples_allowed == 2);
  CHECK(state.Sample({2, 2}, &removed).samples_allowed == 0);
}

TEST_CASE("bytes count a block once and whole, however many items share it", "[unit]") {
  TableState state(SmallTable(), 1);
  RemovedRows removed;
  const std::vector<ChunkRef> chunks = MakeRows(0, 0, {4, 2});
  const std::vector<ChunkRef> others = MakeRows(0, 6, {1});
  const int64_t block = chunks[0]->block_bytes();
  REQUIRE(block >= 6 * kSmallRowBytes);
  state.Insert(MakeItem({chunks[0]}, 0, 2), &removed);
  REQUIRE(state.bytes() == block);
  state.Insert(MakeItem({chunks[0]}, 2, 2), &removed);
  state.Insert(MakeItem(chunks, 3, 3), &removed);
  REQUIRE(state.bytes() == block);
  state.Insert(MakeItem({others[0]}, 0, 1), &removed);
  REQUIRE(state.bytes() == block + others[0]->block_bytes());
  Clear(&state, SmallTable());
  REQUIRE(state.bytes() == 0);
}

namespace {

// A table with a future row, whose transitions have two rows.
TableConfig FutureTable() {
  TableConfig config = SmallTable();
  config.view.push_back({"goal", "id", ViewField::Rows::kFuture});
  config.max_window = 100;
  config.transition_rows = 2;
  return config;
}

int64_t FutureId(const SampledItem& item) {
  static const RowLayout layout(SmallTable().signature);
  RowSource source(layout);
  return *reinterpret_cast<const int64_t*>(RowAt(&source, 0, item.window, item.future_row));
}

}  // namespace

TEST_CASE("each later row of an item is its future row as often as any other", "[unit]") {
  TableState state(FutureTable(), 1);
  RemovedRows removed;
  // Step t of an episode of ten rows, which lie in one chunk or in many.
  constexpr uint32_t kRows = 10;
  const std::vector<std::vector<ChunkRef>> episodes = {MakeRows(0, 0, {kRows}),
                                                       MakeRows(1, 0, std::vector<uint32_t>(kRows, 1))};
  for (const std::vector<ChunkRef>& chunks : episodes) {
    for (uint32_t first = 0; first + 1 < kRows; ++first) {
      const size_t chunk = std::min<size_t>(first, chunks.size() - 1);
      state.Insert(MakeItem({chunks.begin() + static_cast<int64_t>(chunk), chunks.end()}, chunks.size() > 1 ? 0 : first,
                            kRows - first),
                   &removed);
    }
  }
  std::map<int64_t, int64_t> items;
  std::map<int64_t, double> item_weights;
  std::map<int64_t, std::map<int64_t, int64_t>> rows;  // By item, how often each row was the future one.
  for (const SampledItem& item : state.Sample({200'000, 200'000}, &removed).items) {
    const int64_t id = FirstId(item.window);
    REQUIRE(item.window.rows == 2);
    REQUIRE(FutureId(item) == id + item.future_offset);
    ++items[id];
    item_weights[id] = 1;
    ++rows[id][item.future_offset];
  }
  REQUIRE(items.size() == 2 * (kRows - 1));
  testing::CheckChiSquare(items, item_weights);
  for (const auto& [id, counts] : rows) {
    const int64_t later = kRows - 1 - id % 1000;
    std::map<int64_t, double> weights;
    for (int64_t offset = 1; offset <= later; ++offset) {
      weights[offset] = 1;
    }
    CAPTURE(id);
    if (later == 1) {
      REQUIRE(counts.size() == 1);
      REQUIRE(counts.begin()->first == 1);
    } else {
      testing::CheckChiSquare(counts, weights);
    }
  }
}

TEST_CASE("future rows follow from the seed, and no other draw of a table without them changes", "[unit]") {
  const std::vector<ChunkRef> chunks = MakeRows(0, 0, {40});
  const auto draw = [&chunks](const TableConfig& config, uint64_t seed) {
    TableState state(config, seed);
    RemovedRows removed;
    for (uint32_t first = 0; first < 30; ++first) {
      state.Insert(MakeItem(chunks, first, 10), &removed);
    }
    std::vector<std::pair<uint64_t, uint32_t>> drawn;
    for (int batch = 0; batch < 3; ++batch) {
      for (const SampledItem& item : state.Sample({16, 16}, &removed).items) {
        drawn.emplace_back(item.key, item.future_offset);
      }
    }
    return drawn;
  };
  REQUIRE(draw(FutureTable(), 1) == draw(FutureTable(), 1));
  REQUIRE(draw(FutureTable(), 1) != draw(FutureTable(), 2));
  TableConfig plain = FutureTable();
  plain.view.pop_back();
  plain.transition_rows = 0;
  for (const auto& [key, offset] : draw(plain, 1)) {
    REQUIRE(offset == 0);
  }
}

TEST_CASE("a drawn item has no rows between its transition and its future row", "[unit]") {
  TableConfig config = FutureTable();
  config.view.push_back({"goals", "id", ViewField::Rows::kFuture, 3});
  TableState state(config, 1);
  RemovedRows removed;
  const std::vector<ChunkRef> chunks = MakeRows(0, 0, std::vector<uint32_t>(60, 1));
  state.Insert(MakeItem(chunks, 0, 60), &removed);
  for (const SampledItem& item : state.Sample({100, 100}, &removed).items) {
    // Two rows of the transition, and three of the future one's stack.
    REQUIRE(item.window.chunks.size() <= 5);
    REQUIRE(FutureId(item) == item.future_offset);
  }
  REQUIRE(state.ItemAt(0).window.chunks.size() == 60);
}

TEST_CASE("bytes count the chunks of a window that has many", "[unit]") {
  TableConfig config = SmallTable();
  config.max_window = 1000;
  TableState state(config, 1);
  RemovedRows removed;
  const std::vector<ChunkRef> chunks = MakeRows(0, 0, std::vector<uint32_t>(1000, 1));
  state.Insert(MakeItem(chunks, 0, 1000), &removed);
  const int64_t bytes = state.bytes();
  state.Insert(MakeItem(chunks, 0, 1000), &removed);
  REQUIRE(state.bytes() - bytes == static_cast<int64_t>(1000 * sizeof(ChunkRef)));
  Clear(&state, SmallTable());
  REQUIRE(state.bytes() == 0);
}

TEST_CASE("how many items a change would make leave is told before", "[unit]") {
  TableConfig config = SmallTable();
  config.max_times_sampled = 10;
  RemovedRows removed;
  const int64_t one_row = OneRow(0).window.chunks[0]->block_bytes();
  const auto told_and_left = [&](const TableConfig& changed) {
    TableState fresh(config, 1);
    for (uint64_t i = 0; i < 8; ++i) {
      fresh.Insert(OneRow(i), &removed);
    }
    const int64_t told = fresh.ItemsOver(changed);
    fresh.Reconfigure(changed, &removed);
    return std::make_pair(told, 8 - fresh.items());
  };
  CHECK(told_and_left(config) == std::make_pair<int64_t, int64_t>(0, 0));
  TableConfig changed = config;
  changed.max_items = 3;
  CHECK(told_and_left(changed) == std::make_pair<int64_t, int64_t>(5, 5));
  changed = config;
  changed.max_bytes = 2 * one_row;
  CHECK(told_and_left(changed) == std::make_pair<int64_t, int64_t>(6, 6));
  changed.max_bytes = 1;
  CHECK(told_and_left(changed) == std::make_pair<int64_t, int64_t>(7, 7));
}

TEST_CASE("past max_bytes the oldest items leave, but never the last one", "[unit]") {
  const int64_t one_row = OneRow(0).window.chunks[0]->block_bytes();
  TableConfig config = SmallTable();
  config.max_bytes = 3 * one_row;
  config.rate_limiter.min_items = 5;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; i < 4; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  REQUIRE(FirstIds(removed) == std::vector<int64_t>{0});
  const std::vector<ChunkRef> large = MakeRows(0, 10, {1000});
  state.Insert(MakeItem(large, 0, 4), &removed);
  REQUIRE(FirstIds(removed) == std::vector<int64_t>{0, 1, 2, 3});
  REQUIRE(state.items() == 1);
  REQUIRE(state.bytes() == large[0]->block_bytes());
  // Someone who waits for five items learns why they never come.
  REQUIRE(absl::StrContains(state.WhyNoSample({1, 1}), "max_bytes"));
}

TEST_CASE("of a table with a memory limit, the memory of all tables counts what may be in memory", "[unit]") {
  const auto tier = std::make_shared<ChunkTier>("t", int64_t{1} << 30);
  const auto tiered = [&tier](uint64_t id) {
    NewItem item = OneRow(id);
    item.window.chunks = {testing::TieredBlock(tier, 'x')};
    return item;
  };
  const int64_t one_row = tiered(0).window.chunks[0]->block_bytes();
  TableConfig config = SmallTable();
  config.memory_limit = 3 * one_row;
  const auto memory = std::make_shared<MemoryAccount>(4 * one_row);
  TableState state(config, 1, memory);
  RemovedRows removed;
  for (uint64_t i = 0; i < 10; ++i) {
    state.Insert(tiered(i), &removed);
  }
  CHECK(state.bytes() == 10 * one_row);
  CHECK(memory->used() == 3 * one_row);
  // Others fill it: this table has nothing to give, and takes nothing more.
  memory->Add(2 * one_row);
  state.Insert(tiered(10), &removed);
  CHECK(removed.empty());
  memory->Add(-2 * one_row);
  config.memory_limit = 2 * one_row;
  state.Reconfigure(config, &removed);
  CHECK(memory->used() == 2 * one_row);
  config.max_bytes = one_row;
  state.Reconfigure(config, &removed);
  CHECK(state.bytes() == one_row);
  CHECK(memory->used() == one_row);
}

TEST_CASE("rows that a table without a limit has too are in memory, whatever the limit of the other one", "[unit]") {
  const int64_t one_row = OneRow(0).window.chunks[0]->block_bytes();
  TableConfig config = SmallTable();
  config.memory_limit = 1;
  const auto memory = std::make_shared<MemoryAccount>(100 * one_row);
  TableState state(config, 1, memory);
  RemovedRows removed;
  for (uint64_t i = 0; i < 10; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  CHECK(memory->used() == 10 * one_row);
}

TEST_CASE("an item leaves when it was sampled often enough", "[unit]") {
  TableConfig config = SmallTable();
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 2;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; i < 4; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  REQUIRE(state.CanSample({8, 8}));
  REQUIRE_FALSE(state.CanSample({9, 9}));
  const Sampled sampled = state.Sample({5, 5}, &removed);
  std::vector<int64_t> ids;
  std::vector<uint32_t> times;
  for (const SampledItem& item : sampled.items) {
    ids.push_back(FirstId(item.window));
    times.push_back(item.times_sampled);
  }
  REQUIRE(ids == std::vector<int64_t>{0, 0, 1, 1, 2});
  REQUIRE(times == std::vector<uint32_t>{1, 2, 1, 2, 1});
  REQUIRE(FirstIds(removed) == std::vector<int64_t>{0, 1});
  REQUIRE(state.items() == 2);
  REQUIRE_FALSE(state.CanSample({4, 4}));
  REQUIRE(absl::StrContains(state.WhyNoSample({4, 4}), "max_times_sampled"));
}

TEST_CASE("a batch that waits for items to draw lets inserts through that the limiter would hold", "[unit]") {
  TableConfig config = SmallTable();
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 1;
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.error_buffer = 8;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; state.CanInsert(0); ++i) {
    state.Insert(OneRow(i), &removed);
  }
  REQUIRE(state.items() == 9);
  REQUIRE_FALSE(state.CanSample({12, 12}));
  REQUIRE_OK(config.CheckBatchSize(12));
  while (state.CanInsert(12)) {
    state.Insert(OneRow(50), &removed);
  }
  REQUIRE(state.CanSample({12, 12}));
  REQUIRE(state.items() == 12);
}

TEST_CASE("a batch that no setting allows is refused with the setting's name", "[unit]") {
  TableConfig config = SmallTable();
  config.max_times_sampled = 2;
  REQUIRE_OK(config.CheckBatchSize(200));
  REQUIRE_CODE(config.CheckBatchSize(201), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(config.CheckBatchSize(0), absl::StatusCode::kInvalidArgument);
  config.rate_limiter.samples_per_insert = 2;
  config.rate_limiter.error_buffer = 10;
  REQUIRE_OK(config.CheckBatchSize(18));
  const absl::Status refused = config.CheckBatchSize(19);
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(refused.message(), "error_buffer"));
}

TEST_CASE("priority updates tell an item from the one that took its slot", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 1;
  TableState state(config, 1);
  RemovedRows removed;
  state.Insert(OneRow(1), &removed);
  const SampledItem first = state.Sample({1, 1}, &removed).items[0];
  REQUIRE(UpdateOne(&state, first, 5).applied == 1);
  REQUIRE(state.PrioritySum() == 5);
  state.Insert(OneRow(2), &removed);
  REQUIRE(UpdateOne(&state, first, 7).stale == 1);
  REQUIRE(state.PrioritySum() == 1);
  const SampledItem second = state.Sample({1, 1}, &removed).items[0];
  REQUIRE(second.key == first.key);
  REQUIRE(second.generation != first.generation);
  REQUIRE(state.Delete(absl::MakeConstSpan(&first.key, 1), absl::MakeConstSpan(&first.generation, 1), &removed).stale ==
          1);
  REQUIRE(
      state.Delete(absl::MakeConstSpan(&second.key, 1), absl::MakeConstSpan(&second.generation, 1), &removed).applied ==
      1);
  REQUIRE(UpdateOne(&state, second, 7).unknown == 1);
  SampledItem never;
  never.key = 1000;
  REQUIRE(UpdateOne(&state, never, 7).unknown == 1);
  REQUIRE(state.priority_updates().applied == 1);
  REQUIRE(state.priority_updates().stale == 1);
  REQUIRE(state.priority_updates().unknown == 2);
}

TEST_CASE("generations go on after a table is cleared, and differ between two servers", "[unit]") {
  TableState state(SmallTable(), 1);
  TableState other(SmallTable(), 1);
  RemovedRows removed;
  state.Insert(OneRow(1), &removed);
  other.Insert(OneRow(1), &removed);
  const SampledItem before = state.Sample({1, 1}, &removed).items[0];
  REQUIRE(other.Sample({1, 1}, &removed).items[0].generation != before.generation);
  REQUIRE(Clear(&state, SmallTable()) == 1);
  REQUIRE(state.items() == 0);
  REQUIRE_FALSE(state.CanSample({1, 1}));
  REQUIRE(UpdateOne(&state, before, 2).unknown == 1);
  state.Insert(OneRow(2), &removed);
  const SampledItem after = state.Sample({1, 1}, &removed).items[0];
  REQUIRE(after.key == before.key);
  REQUIRE(after.generation == before.generation + 1);
  REQUIRE(UpdateOne(&state, before, 2).stale == 1);
  REQUIRE(state.items_inserted() == 2);
  REQUIRE(state.items_removed() == 1);
}

TEST_CASE("sampled rows outlive the item", "[unit]") {
  TableState state(SmallTable(), 1);
  RemovedRows removed;
  state.Insert(OneRow(42), &removed);
  const Sampled sampled = state.Sample({3, 3}, &removed);
  Clear(&state, SmallTable());
  removed.clear();
  REQUIRE(FirstId(sampled.items[2].window) == 42);
}

namespace {

#ifdef __SANITIZE_ADDRESS__  // Which makes each of them some fifty times slower.
constexpr int kOperations = 2'000;
#else
constexpr int kOperations = 20'000;
#endif

}  // namespace

TEST_CASE("a table agrees with a naive one through millions of random operations", "[unit]") {
  uint64_t seed = 0;
  for (const auto sampler : {SelectorKind::kUniform, SelectorKind::kPrioritized, SelectorKind::kFifo,
                             SelectorKind::kLifo, SelectorKind::kMinHeap, SelectorKind::kMaxHeap}) {
    for (const auto remover : {SelectorKind::kUniform, SelectorKind::kPrioritized, SelectorKind::kFifo,
                               SelectorKind::kLifo, SelectorKind::kMinHeap, SelectorKind::kMaxHeap}) {
      for (int variant = 0; variant < 3; ++variant) {
        TableConfig config = SmallTable();
        config.sampler.kind = sampler;
        config.remover.kind = remover;
        config.sampler.without_replacement = variant == 1;
        config.sampler.absolute_priorities = ++seed % 2 == 0;
        config.sampler.priority_epsilon = seed % 3 == 0 ? 0.25 : 0;
        config.sampler.independent_draws = seed % 5 == 0;
        if (variant == 2 && sampler == SelectorKind::kPrioritized) {
          config.sampler.uniform_share = 0.3;
        } else if (variant == 2 && sampler == SelectorKind::kUniform) {
          config.sampler.recent_share = 0.4;
          config.sampler.recent_items = 5;
        }
        config.max_items = 1 + static_cast<int64_t>(seed % 40);
        config.max_bytes = seed % 2 == 0 ? 10 * OneRow(0).window.chunks[0]->block_bytes() : int64_t{1} << 30;
        config.max_times_sampled = static_cast<int64_t>(seed % 3);
        const int64_t row = OneRow(0).window.chunks[0]->block_bytes();
        config.memory_limit = seed % 4 == 3 ? 4 * row : 0;
        REQUIRE_OK(config.Validate());
        CAPTURE(seed, static_cast<int>(sampler), static_cast<int>(remover), variant);
        testing::PlayBoth(config, seed, seed % 7 < 3 ? 12 * row : 0).Play(kOperations);
      }
    }
  }
}

TEST_CASE("keys lead to the items they were given for", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 10000;
  TableState state(config, 9);
  RemovedRows removed;
  for (uint64_t i = 0; i < 9000; ++i) {  // More than a page of slots.
    state.Insert(OneRow(i), &removed);
  }
  const Sampled sampled = state.Sample({500, 500}, &removed);
  std::map<int64_t, double> wanted;
  for (const SampledItem& item : sampled.items) {
    wanted[FirstId(item.window)] = static_cast<double>(FirstId(item.window)) + 0.25;
    REQUIRE(UpdateOne(&state, item, wanted[FirstId(item.window)]).applied == 1);
  }
  for (const SampledItem& item : state.Sample({2000, 2000}, &removed).items) {
    const auto found = wanted.find(FirstId(item.window));
    REQUIRE(item.priority == (found == wanted.end() ? 1.0 : found->second));
  }
}

namespace {

// What a database would have of a table that hands over its changes now and then.
struct Mirror {
  std::map<uint32_t, ItemRecord> items;
  TableCounters counters;

  // So many slots at most.
  void Take(TableState* state, size_t most) {
    const size_t before = state->changed_slots();
    TableChanges changes;
    state->TakeChanges(most, &changes);
    REQUIRE(changes.items.size() == std::min(most, before));
    REQUIRE(state->changed_slots() == before - changes.items.size());
    if (changes.cleared) {
      items.clear();
    }
    for (const ItemRecord& item : changes.items) {
      items.erase(item.slot);
      if (item.generation != 0) {
        items[item.slot] = item;
      }
    }
    counters = changes.counters;
  }
};

// Random operations on a table that records, with a look at its changes now and then.
void PlayRecorded(TableState* state, Mirror* mirror, const TableConfig& config) {
  Rng rng(5);
  RemovedRows removed;
  std::vector<SampledItem> known;
  for (uint64_t step = 0; step < 4000; ++step) {
    const uint64_t choice = rng.UniformInt(120);
    if (choice < 45) {
      state->Insert(OneRow(step, rng.Uniform()), &removed);
    } else if (choice < 65 && state->CanSample({2, 2})) {
      known = state->Sample({2, 2}, &removed).items;
    } else if (choice < 95) {
      for (const SampledItem& item : known) {
        UpdateOne(state, item, rng.Uniform());
      }
    } else if (choice < 100) {
      for (const SampledItem& item : known) {
        state->Delete(absl::MakeConstSpan(&item.key, 1), absl::MakeConstSpan(&item.generation, 1), &removed);
      }
    } else if (choice == 100 && rng.UniformInt(4) == 0) {
      Clear(state, config);
    } else if (choice > 100) {
      mirror->Take(state, rng.UniformInt(8));
    }
  }
  mirror->Take(state, state->changed_slots());
}

}  // namespace

TEST_CASE("a table that is put together from what it handed over is the one that it was", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 40;
  config.max_times_sampled = GENERATE(0, 3);
  config.sampler.kind = GENERATE(SelectorKind::kPrioritized, SelectorKind::kFifo, SelectorKind::kMaxHeap);
  TableState state(config, 1);
  state.StartRecording(/*draws=*/true);
  Mirror mirror;
  PlayRecorded(&state, &mirror, config);
  std::vector<ItemRecord> items;
  for (const auto& [slot, item] : mirror.items) {
    items.push_back(item);
  }
  TableState restored(config, 1);
  REQUIRE_OK(restored.Restore(mirror.counters, items));
  CHECK(restored.items() == state.items());
  CHECK(restored.items_inserted() == state.items_inserted());
  CHECK(restored.items_sampled() == state.items_sampled());
  CHECK(restored.items_removed() == state.items_removed());
  CHECK(restored.incarnation() == state.incarnation());
  CHECK(restored.PrioritySum() == Approx(state.PrioritySum()));
  // Keys and generations are what they were, and a generation that may have been given since is not given again.
  for (const auto& [slot, item] : mirror.items) {
    const uint64_t key = slot;
    const double priority = 0.5;
    CHECK(restored.UpdatePriorities({&key, 1}, {&item.generation, 1}, {&priority, 1}).applied == 1);
  }
  RemovedRows removed;
  restored.Insert(OneRow(0), &removed);
  CHECK(restored.next_generation() > mirror.counters.next_generation + 1'000'000);
  CHECK(restored.items() <= config.max_items);
}

TEST_CASE("a table is not put together from what contradicts itself", "[unit]") {
  const std::vector<ChunkRef> rows = MakeRows(0, 0, {1});
  ItemRecord item;
  item.generation = 1;
  item.rows = 1;
  item.chunks.assign(rows.begin(), rows.end());
  TableCounters counters;
  counters.next_generation = 2;
  counters.inserted = 2;
  const auto restored = [](const TableCounters& from, const std::vector<ItemRecord>& items) {
    TableConfig config = SmallTable();
    config.max_times_sampled = 3;
    return TableState(config, 1).Restore(from, items);
  };
  REQUIRE_OK(restored(counters, {item}));
  REQUIRE_CODE(restored(counters, {item, item}), absl::StatusCode::kInvalidArgument);
  ItemRecord without = item;
  without.chunks.clear();
  REQUIRE_CODE(restored(counters, {without}), absl::StatusCode::kInvalidArgument);
  ItemRecord far = item;
  far.slot = 2;  // Of two that were ever needed.
  REQUIRE_CODE(restored(counters, {far}), absl::StatusCode::kInvalidArgument);
  far.slot = UINT32_MAX;
  TableCounters many = counters;
  many.inserted = int64_t{1} << 40;
  REQUIRE_CODE(restored(many, {far}), absl::StatusCode::kInvalidArgument);
  ItemRecord used_up = item;
  used_up.times_sampled = 3;
  REQUIRE_CODE(restored(counters, {used_up}), absl::StatusCode::kInvalidArgument);
  ItemRecord late = item;
  late.generation = UINT64_MAX;
  REQUIRE_CODE(restored(counters, {late}), absl::StatusCode::kInvalidArgument);
  TableCounters next = counters;
  next.next_generation = uint64_t{1} << 60;  // Its generations count on from there, and are kept in 48 bits.
  REQUIRE_OK(restored(next, {}));
  REQUIRE_CODE(restored(next, {item}), absl::StatusCode::kInvalidArgument);
  next.next_generation = UINT64_MAX;
  REQUIRE_CODE(restored(next, {}), absl::StatusCode::kInvalidArgument);
}

}  // namespace waggle
