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

// Frees the contents, as Table does.
int64_t Clear(TableState* state, const TableConfig& config) {
  TableState::Contents contents(config);
  return state->Clear(&contents);
}

PriorityUpdateCounts UpdateOne(TableState* state, const SampledItem& item, double priority) {
  return state->UpdatePriorities({&item.key, 1}, {&item.generation, 1}, {&priority, 1});
}

}  // namespace

TEST_CASE("items leave once they were sampled max_times_sampled times, and more samples are not allowed", "[unit]") {
  TableConfig config = SmallTable();
  config.max_times_sampled = 2;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; i < 3; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  CHECK(state.Sample({0, 0}, &removed).samples_allowed == 6);
  CHECK(state.Sample({4, 4}, &removed).samples_allowed == 2);
  CHECK(absl::StrContains(state.WhyNoSample({3, 3}), "max_times_sampled"));
  CHECK(state.Sample({2, 2}, &removed).samples_allowed == 0);
  CHECK(state.items() == 0);
}

TEST_CASE("bytes count a block once, and the chunks of a window that has many", "[unit]") {
  TableConfig config = SmallTable();
  config.max_window = 1000;
  TableState state(config, 1);
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
  const std::vector<ChunkRef> many = MakeRows(0, 0, std::vector<uint32_t>(1000, 1));
  state.Insert(MakeItem(many, 0, 1000), &removed);
  const int64_t bytes = state.bytes();
  state.Insert(MakeItem(many, 0, 1000), &removed);
  REQUIRE(state.bytes() - bytes == static_cast<int64_t>(1000 * sizeof(ChunkRef)));
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

TEST_CASE("every later row of an item is equally often its future row", "[unit]") {
  TableState state(FutureTable(), 1);
  RemovedRows removed;
  // Ten rows, in one chunk or in many.
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
  std::map<int64_t, std::map<int64_t, int64_t>> rows;  // By item and offset: how often that row was the future one.
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
      REQUIRE(counts.count(1) == counts.size());
    } else {
      testing::CheckChiSquare(counts, weights);
    }
  }
}

TEST_CASE("a future row may be the window's last alone, or any of the episode", "[unit]") {
  constexpr uint32_t kRows = 10;
  const auto chunk_rows = GENERATE(1U, 3U, 10U);
  std::vector<uint32_t> sizes;
  for (uint32_t begin = 0; begin < kRows; begin += chunk_rows) {
    sizes.push_back(std::min(chunk_rows, kRows - begin));
  }
  const std::vector<ChunkRef> chunks = MakeRows(0, 0, sizes);
  for (const auto row : {FutureRow::kLast, FutureRow::kEpisode}) {
    TableConfig config = FutureTable();
    config.future_row = row;
    TableState state(config, 1);
    RemovedRows removed;
    for (uint32_t first = 0; first + 1 < kRows; ++first) {
      NewItem item = MakeItem(chunks, 0, kRows - first);
      item.window.context = row == FutureRow::kEpisode ? static_cast<uint8_t>(first) : uint8_t{0};
      if (row == FutureRow::kLast) {
        item.window.chunks.erase(item.window.chunks.begin(), item.window.chunks.begin() + first / chunk_rows);
        item.window.offset = first % chunk_rows;
      }
      state.Insert(std::move(item), &removed);
    }
    std::map<int64_t, std::map<int64_t, int64_t>> rows;  // By item: how often each row was the future one.
    for (const SampledItem& item : state.Sample({50'000, 50'000}, &removed).items) {
      const auto first = static_cast<int64_t>(item.key);
      REQUIRE(FirstId(item.window) == (row == FutureRow::kLast ? first : 0));
      REQUIRE(item.window.rows == 2);
      REQUIRE(FutureId(item) == first + item.future_offset);
      ++rows[first][FutureId(item)];
    }
    REQUIRE(rows.size() == kRows - 1);
    std::map<int64_t, double> weights;
    for (int64_t id = 0; id < kRows; ++id) {
      weights[id] = 1;
    }
    for (const auto& [first, counts] : rows) {
      CAPTURE(chunk_rows, first);
      if (row == FutureRow::kLast) {
        REQUIRE(counts.size() == 1);
        REQUIRE(counts.count(kRows - 1) == 1);
      } else {
        testing::CheckChiSquare(counts, weights);
      }
    }
  }
}

TEST_CASE("future rows follow from the seed", "[unit]") {
  const std::vector<ChunkRef> chunks = MakeRows(0, 0, {40});
  const auto draw = [&chunks](const TableConfig& config, uint64_t seed) {
    TableState state(config, seed);
    RemovedRows removed;
    for (uint32_t first = 0; first < 30; ++first) {
      state.Insert(MakeItem(chunks, first, 10), &removed);
    }
    std::vector<std::pair<uint64_t, int64_t>> drawn;
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

TEST_CASE("the number of items that a change would remove is known before", "[unit]") {
  const TableConfig config = SmallTable();
  const int64_t one_row = OneRow(0).window.chunks[0]->block_bytes();
  struct Case {
    int64_t max_items;
    int64_t max_bytes;
    int64_t leave;
  };
  for (const auto& [max_items, max_bytes, leave] :
       {Case{100, config.max_bytes, 0}, Case{3, config.max_bytes, 5}, Case{100, 2 * one_row, 6}, Case{100, 1, 7}}) {
    TableState state(config, 1);
    RemovedRows removed;
    for (uint64_t i = 0; i < 8; ++i) {
      state.Insert(OneRow(i), &removed);
    }
    TableConfig changed = config;
    changed.max_items = max_items;
    changed.max_bytes = max_bytes;
    CHECK(state.ItemsOver(changed) == leave);
    state.Reconfigure(changed, &removed);
    CHECK(state.items() == 8 - leave);
  }
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
  REQUIRE(absl::StrContains(state.WhyNoSample({1, 1}), "max_bytes"));
}

TEST_CASE("the memory of all tables counts at most memory_limit of a table's rows", "[unit]") {
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
  // Other tables fill it. This table has nothing to give.
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

TEST_CASE("inserts for a waiting batch that lacks items pass the limiter", "[unit]") {
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

namespace {

#ifdef __SANITIZE_ADDRESS__  // Each operation is some fifty times slower.
constexpr int kOperations = 2'000;
#else
constexpr int kOperations = 20'000;
#endif

}  // namespace

TEST_CASE("a table agrees with a naive one through millions of random operations", "[unit]") {
  uint64_t seed = 0;
  constexpr SelectorKind kKinds[] = {SelectorKind::kUniform, SelectorKind::kPrioritized, SelectorKind::kFifo,
                                     SelectorKind::kLifo,    SelectorKind::kMinHeap,     SelectorKind::kMaxHeap};
  for (const SelectorKind sampler : kKinds) {
    for (const SelectorKind remover : kKinds) {
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

TEST_CASE("keys lead to their items in a table of many pages of slots", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 10000;
  TableState state(config, 9);
  RemovedRows removed;
  for (uint64_t i = 0; i < 9000; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  std::map<int64_t, double> wanted;
  for (const SampledItem& item : state.Sample({500, 500}, &removed).items) {
    const int64_t id = FirstId(item.window);
    wanted[id] = static_cast<double>(id) + 0.25;
    REQUIRE(UpdateOne(&state, item, wanted[id]).applied == 1);
  }
  for (const SampledItem& item : state.Sample({2000, 2000}, &removed).items) {
    const auto found = wanted.find(FirstId(item.window));
    REQUIRE(item.priority == (found == wanted.end() ? 1.0 : found->second));
  }
}

namespace {

// A database to which a table hands over its changes.
struct Mirror {
  std::map<uint32_t, ItemRecord> items;
  TableCounters counters;

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

// Random operations on a table that records its changes. The mirror takes them at times.
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
        state->Delete({&item.key, 1}, {&item.generation, 1}, &removed);
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

TEST_CASE("a table that is restored from its recorded changes is equal", "[unit]") {
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
  // Keys and generations are the same. Generations that may have been used since are not used again.
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

TEST_CASE("a table is not restored from records that contradict each other", "[unit]") {
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
    return TableState(config, 1).Restore(from, items).code();
  };
  const auto refused = [&](auto spoil) {
    ItemRecord spoiled = item;
    TableCounters from = counters;
    spoil(&spoiled, &from);
    return restored(from, {spoiled}) == absl::StatusCode::kInvalidArgument;
  };
  REQUIRE(restored(counters, {item}) == absl::StatusCode::kOk);
  CHECK(restored(counters, {item, item}) == absl::StatusCode::kInvalidArgument);
  CHECK(refused([](auto* record, auto*) { record->chunks.clear(); }));
  CHECK(refused([](auto* record, auto*) { record->slot = 2; }));  // There were two slots at most.
  CHECK(refused([](auto* record, auto* from) { record->slot = UINT32_MAX, from->inserted = int64_t{1} << 40; }));
  CHECK(refused([](auto* record, auto*) { record->times_sampled = 3; }));
  CHECK(refused([](auto* record, auto*) { record->generation = UINT64_MAX; }));
  // Generations count on from next_generation, and are kept in 48 bits.
  CHECK(refused([](auto*, auto* from) { from->next_generation = uint64_t{1} << 60; }));
  counters.next_generation = uint64_t{1} << 60;
  CHECK(restored(counters, {}) == absl::StatusCode::kOk);
  counters.next_generation = UINT64_MAX;
  CHECK(restored(counters, {}) == absl::StatusCode::kInvalidArgument);
}

}  // namespace waggle
