#include "replay_server/table/table_state.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

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
  for (const Window& window : removed) {
    ids.push_back(FirstId(window));
  }
  return ids;
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

TEST_CASE("bytes count a chunk once, however many items share it", "[unit]") {
  TableState state(SmallTable(), 1);
  RemovedRows removed;
  const std::vector<ChunkRef> chunks = MakeRows(0, 0, {4, 2});
  state.Insert(MakeItem({chunks[0]}, 0, 2), &removed);
  REQUIRE(state.bytes() == 4 * kSmallRowBytes);
  state.Insert(MakeItem({chunks[0]}, 2, 2), &removed);
  REQUIRE(state.bytes() == 4 * kSmallRowBytes);
  state.Insert(MakeItem(chunks, 3, 3), &removed);
  REQUIRE(state.bytes() == 6 * kSmallRowBytes);
  state.Clear(&removed);
  REQUIRE(state.bytes() == 0);
}

TEST_CASE("past max_bytes the oldest items leave, but never the last one", "[unit]") {
  TableConfig config = SmallTable();
  config.max_bytes = 3 * kSmallRowBytes;
  config.rate_limiter.min_items = 5;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; i < 4; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  REQUIRE(FirstIds(removed) == std::vector<int64_t>{0});
  state.Insert(MakeItem(MakeRows(0, 10, {4}), 0, 4), &removed);
  REQUIRE(FirstIds(removed) == std::vector<int64_t>{0, 1, 2, 3});
  REQUIRE(state.items() == 1);
  REQUIRE(state.bytes() == 4 * kSmallRowBytes);
  // Someone who waits for five items learns why they never come.
  REQUIRE(absl::StrContains(state.WhyNoSample(1), "max_bytes"));
}

TEST_CASE("an item leaves when it was sampled often enough", "[unit]") {
  TableConfig config = SmallTable();
  config.sampler.kind = SamplerConfig::Kind::kFifo;
  config.max_times_sampled = 2;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; i < 4; ++i) {
    state.Insert(OneRow(i), &removed);
  }
  REQUIRE(state.CanSample(8));
  REQUIRE_FALSE(state.CanSample(9));
  const Sampled sampled = state.Sample(5, &removed);
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
  REQUIRE_FALSE(state.CanSample(4));
  REQUIRE(absl::StrContains(state.WhyNoSample(4), "max_times_sampled"));
}

TEST_CASE("a batch that waits for items to draw lets inserts through that the limiter would hold", "[unit]") {
  TableConfig config = SmallTable();
  config.sampler.kind = SamplerConfig::Kind::kFifo;
  config.max_times_sampled = 1;
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.error_buffer = 8;
  TableState state(config, 1);
  RemovedRows removed;
  for (uint64_t i = 0; state.CanInsert(0); ++i) {
    state.Insert(OneRow(i), &removed);
  }
  REQUIRE(state.items() == 9);
  REQUIRE_FALSE(state.CanSample(12));
  REQUIRE_OK(TableState::CheckBatchSize(config, 12));
  while (state.CanInsert(12)) {
    state.Insert(OneRow(50), &removed);
  }
  REQUIRE(state.CanSample(12));
  REQUIRE(state.items() == 12);
}

TEST_CASE("a batch that no setting allows is refused with the setting's name", "[unit]") {
  TableConfig config = SmallTable();
  config.max_times_sampled = 2;
  REQUIRE_OK(TableState::CheckBatchSize(config, 200));
  REQUIRE_CODE(TableState::CheckBatchSize(config, 201), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(TableState::CheckBatchSize(config, 0), absl::StatusCode::kInvalidArgument);
  config.rate_limiter.samples_per_insert = 2;
  config.rate_limiter.error_buffer = 10;
  REQUIRE_OK(TableState::CheckBatchSize(config, 18));
  const absl::Status refused = TableState::CheckBatchSize(config, 19);
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(refused.message(), "error_buffer"));
}

TEST_CASE("priority updates tell an item from the one that took its slot", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 1;
  TableState state(config, 1);
  RemovedRows removed;
  state.Insert(OneRow(1), &removed);
  const SampledItem first = state.Sample(1, &removed).items[0];
  REQUIRE(UpdateOne(&state, first, 5).applied == 1);
  REQUIRE(state.PrioritySum() == 5);
  state.Insert(OneRow(2), &removed);
  REQUIRE(UpdateOne(&state, first, 7).stale == 1);
  REQUIRE(state.PrioritySum() == 1);
  const SampledItem second = state.Sample(1, &removed).items[0];
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
  const SampledItem before = state.Sample(1, &removed).items[0];
  REQUIRE(other.Sample(1, &removed).items[0].generation != before.generation);
  REQUIRE(state.Clear(&removed) == 1);
  REQUIRE(state.items() == 0);
  REQUIRE_FALSE(state.CanSample(1));
  REQUIRE(UpdateOne(&state, before, 2).unknown == 1);
  state.Insert(OneRow(2), &removed);
  const SampledItem after = state.Sample(1, &removed).items[0];
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
  const Sampled sampled = state.Sample(3, &removed);
  state.Clear(&removed);
  removed.clear();
  REQUIRE(FirstId(sampled.items[2].window) == 42);
}

namespace {

// A table as one would write it without a thought for speed.
class NaiveTable {
 public:
  explicit NaiveTable(const TableConfig& config) : config_(config) {}

  struct Item {
    int64_t id = 0;
    double priority = 0;
    uint32_t times_sampled = 0;
    Window window;
  };

  void Insert(int64_t id, const NewItem& item) {
    items_.push_back({id, item.priority, 0, item.window});
    while (static_cast<int64_t>(items_.size()) > config_.max_items) {
      items_.pop_front();
    }
    while (Bytes() > config_.max_bytes && items_.size() > 1) {
      items_.pop_front();
    }
  }
  Item* Find(int64_t id) {
    for (Item& item : items_) {
      if (item.id == id) {
        return &item;
      }
    }
    return nullptr;
  }
  void Remove(int64_t id) {
    items_.erase(std::find_if(items_.begin(), items_.end(), [id](const Item& item) { return item.id == id; }));
  }
  void Clear() { items_.clear(); }
  int64_t Bytes() const {
    std::set<const Chunk*> chunks;
    int64_t bytes = 0;
    for (const Item& item : items_) {
      for (const ChunkRef& chunk : item.window.chunks) {
        bytes += chunks.insert(chunk.get()).second ? static_cast<int64_t>(chunk->bytes()) : 0;
      }
    }
    return bytes;
  }
  double PrioritySum() const {
    double sum = 0;
    for (const Item& item : items_) {
      sum += item.priority;
    }
    return sum;
  }
  const std::deque<Item>& items() const { return items_; }

 private:
  const TableConfig config_;
  std::deque<Item> items_;
};

// Plays random operations on a table and on a naive one, which have to agree after each.
void PlayBoth(const TableConfig& config, uint64_t seed, int operations) {
  TableState state(config, seed);
  NaiveTable naive(config);
  Rng rng(seed);
  RemovedRows removed;
  std::vector<ChunkRef> recent;
  std::map<std::pair<uint64_t, uint64_t>, int64_t> seen;  // (key, generation) of sampled items, with their ids.
  std::set<uint64_t> generations;
  int64_t next_id = 0;
  for (int step = 0; step < operations; ++step) {
    const uint64_t choice = rng.UniformInt(100);
    if (choice < 60) {
      // Rows are numbered as items, so that an item is known by its first row; the second chunk is shared.
      std::vector<ChunkRef> chunks =
          MakeRows(0, static_cast<uint64_t>(next_id), {1 + static_cast<uint32_t>(rng.UniformInt(3))});
      if (!recent.empty() && rng.UniformInt(2) == 0) {
        chunks.push_back(recent[rng.UniformInt(recent.size())]);
      }
      recent.push_back(chunks[0]);
      const NewItem item = MakeItem(chunks, 0, 1, static_cast<double>(rng.UniformInt(5)));
      naive.Insert(next_id, item);
      state.Insert(item, &removed);
      ++next_id;
    } else if (choice < 80) {
      const int64_t batch = static_cast<int64_t>(1 + rng.UniformInt(4));
      if (state.CanSample(batch)) {
        const Sampled sampled = state.Sample(batch, &removed);
        REQUIRE(sampled.items.size() == static_cast<size_t>(batch));
        for (const SampledItem& item : sampled.items) {
          const int64_t id = FirstId(item.window);
          NaiveTable::Item* known = naive.Find(id);
          REQUIRE(known != nullptr);
          REQUIRE(item.priority == known->priority);
          REQUIRE(item.times_sampled == ++known->times_sampled);
          REQUIRE(item.probability > 0);
          seen[{item.key, item.generation}] = id;
          if (config.max_times_sampled > 0 && known->times_sampled == config.max_times_sampled) {
            naive.Remove(id);
          }
        }
      }
    } else if (choice < 97 && !seen.empty()) {
      auto it = seen.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(rng.UniformInt(seen.size())));
      const auto [address, id] = *it;
      NaiveTable::Item* known = naive.Find(id);
      PriorityUpdateCounts counts;
      if (choice < 92) {
        const double priority = static_cast<double>(rng.UniformInt(5));
        counts = state.UpdatePriorities({address.first}, {address.second}, {priority});
        if (known != nullptr) {
          known->priority = priority;
        }
      } else {
        counts = state.Delete({address.first}, {address.second}, &removed);
        if (known != nullptr) {
          naive.Remove(id);
        }
      }
      REQUIRE(counts.applied == (known != nullptr ? 1 : 0));
      REQUIRE(counts.applied + counts.stale + counts.unknown == 1);
    } else if (choice == 99 && rng.UniformInt(20) == 0) {
      REQUIRE(state.Clear(&removed) == static_cast<int64_t>(naive.items().size()));
      naive.Clear();
    }
    REQUIRE(state.items() == static_cast<int64_t>(naive.items().size()));
    REQUIRE(state.bytes() == naive.Bytes());
    if (config.sampler.kind == SamplerConfig::Kind::kPrioritized) {
      REQUIRE(state.PrioritySum() == naive.PrioritySum());
    }
    REQUIRE(state.items_inserted() == next_id);
    REQUIRE(state.items_inserted() == state.items() + state.items_removed());
    REQUIRE(removed.size() == static_cast<size_t>(state.items_removed()));
  }
}

}  // namespace

TEST_CASE("a table agrees with a naive one through thousands of random operations", "[unit]") {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    for (const auto kind :
         {SamplerConfig::Kind::kPrioritized, SamplerConfig::Kind::kUniform, SamplerConfig::Kind::kFifo}) {
      TableConfig config = SmallTable();
      config.sampler.kind = kind;
      config.max_items = 1 + static_cast<int64_t>(seed * 9);
      config.max_bytes = seed % 2 == 0 ? 20 * kSmallRowBytes : int64_t{1} << 30;
      config.max_times_sampled = seed % 3;
      CAPTURE(seed, static_cast<int>(kind));
      PlayBoth(config, seed, 1500);
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
  const Sampled sampled = state.Sample(500, &removed);
  std::map<int64_t, double> wanted;
  for (const SampledItem& item : sampled.items) {
    wanted[FirstId(item.window)] = static_cast<double>(FirstId(item.window)) + 0.25;
    REQUIRE(UpdateOne(&state, item, wanted[FirstId(item.window)]).applied == 1);
  }
  for (const SampledItem& item : state.Sample(2000, &removed).items) {
    const auto found = wanted.find(FirstId(item.window));
    REQUIRE(item.priority == (found == wanted.end() ? 1.0 : found->second));
  }
}

}  // namespace waggle
