#include <map>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "replay_server/items/table_state.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FirstId;
using testing::MakeRows;
using testing::OneRow;
using testing::SmallTable;

// A configuration with each sampler, each remover and some of their options.
std::vector<TableConfig> Configs() {
  constexpr SelectorKind kKinds[] = {SelectorKind::kUniform, SelectorKind::kPrioritized, SelectorKind::kFifo,
                                     SelectorKind::kLifo,    SelectorKind::kMinHeap,     SelectorKind::kMaxHeap};
  std::vector<TableConfig> configs;
  for (const SelectorKind sampler : kKinds) {
    for (const SelectorKind remover : kKinds) {
      for (int variant = 0; variant < 4; ++variant) {
        TableConfig config = SmallTable();
        config.sampler.kind = sampler;
        config.remover.kind = remover;
        config.sampler.without_replacement = variant == 1;
        config.max_times_sampled = variant == 2 ? 4 : 0;
        if (variant == 3 && sampler == SelectorKind::kPrioritized) {
          config.sampler.uniform_share = 0.3;
        } else if (variant == 3 && sampler == SelectorKind::kUniform) {
          config.sampler.recent_share = 0.4;
          config.sampler.recent_items = 5;
          config.sampler.recent_decay = 0.5;
          config.sampler.recent_period = 7;
        }
        config.max_items = 30;
        config.seed = configs.size();
        REQUIRE_OK(config.Validate());
        configs.push_back(config);
      }
    }
  }
  return configs;
}

// Random operations on tables, which depend on the seed and on the tables' answers.
class Play {
 public:
  explicit Play(uint64_t seed) : rng_(seed) {}

  // One operation. Returns the drawn or removed rows and the drawn probabilities and priorities.
  std::vector<double> Step(TableState* state) {
    std::vector<double> answer;
    RemovedRows removed;
    const uint64_t choice = rng_.UniformInt(10);
    const auto priority = static_cast<double>(rng_.UniformInt(5));
    if (choice < 4) {
      NewItem item = OneRow(next_id_++, priority);
      item.highest_priority = rng_.UniformInt(3) == 0;
      state->Insert(std::move(item), &removed);
    } else if (const int64_t items = 1 + static_cast<int64_t>(rng_.UniformInt(6)); choice < 7) {
      if (state->CanSample({items, items})) {
        const Sampled sampled = state->Sample({items, items}, &removed);
        for (const SampledItem& item : sampled.items) {
          answer.insert(answer.end(), {static_cast<double>(FirstId(item.window)), static_cast<double>(item.key),
                                       item.probability, item.priority, static_cast<double>(item.times_sampled)});
          keys_.push_back(item.key);
        }
      }
    } else if (!keys_.empty()) {
      const uint64_t key = keys_[rng_.UniformInt(keys_.size())];
      const uint64_t generation = key < state->slots() ? state->GenerationAt(static_cast<uint32_t>(key)) : 0;
      if (choice < 9) {
        state->UpdatePriorities({&key, 1}, {&generation, 1}, {&priority, 1});
      } else {
        state->Delete({&key, 1}, {&generation, 1}, &removed);
      }
    }
    for (const WindowChunks& chunks : removed) {
      answer.push_back(static_cast<double>(FirstId({chunks, 0, 1, 0})));
    }
    answer.push_back(static_cast<double>(state->items()));
    return answer;
  }

 private:
  Rng rng_;
  uint64_t next_id_ = 0;
  std::vector<uint64_t> keys_;
};

// The records that a log has after all changes so far.
struct Mirror {
  std::map<uint32_t, ItemRecord> items;
  TableCounters counters;

  void Take(TableState* state, size_t most) {
    TableChanges changes;
    state->TakeChanges(most, &changes);
    for (ItemRecord& item : changes.items) {
      if (item.generation == 0) {
        items.erase(item.slot);
      } else {
        items[item.slot] = std::move(item);
      }
    }
    counters = changes.counters;
  }

  // Copies the rows, because a block counts the items of one table.
  std::vector<ItemRecord> Copies() const {
    std::vector<ItemRecord> copies;
    for (const auto& [slot, item] : items) {
      const auto id = static_cast<uint64_t>(FirstId({item.chunks, item.offset, 1, 0}));
      copies.push_back(item);
      const std::vector<ChunkRef> rows = MakeRows(0, id, {1});
      copies.back().chunks.assign(rows.begin(), rows.end());
    }
    return copies;
  }
};

TEST_CASE("a table that begins anew draws and removes like one that is restored from its records", "[unit]") {
  uint64_t seed = 0;
  for (const TableConfig& config : Configs()) {
    CAPTURE(++seed);
    TableState state(config, config.seed);
    state.StartRecording(/*draws=*/true);
    Play play(seed);
    for (int i = 0; i < 300; ++i) {
      play.Step(&state);
    }
    Mirror mirror;
    mirror.Take(&state, SIZE_MAX);
    TableState restored(config, config.seed);
    REQUIRE_OK(restored.Restore(mirror.counters, mirror.Copies()));
    const int64_t bytes = state.bytes();
    TableState::Contents contents(config);
    state.BeginAnew(&contents);
    REQUIRE(state.bytes() == bytes);
    REQUIRE(restored.bytes() == bytes);
    REQUIRE(state.items() == restored.items());
    Play same = play;
    for (int i = 0; i < 300; ++i) {
      REQUIRE(play.Step(&state) == same.Step(&restored));
    }
    REQUIRE(state.bytes() == restored.bytes());
  }
}

TEST_CASE("tables of one seed and history draw alike after a restoration, at any time", "[unit]") {
  const TableConfig config = SmallTable();
  std::vector<std::vector<double>> answers;
  for (int run = 0; run < 2; ++run) {
    TableState state(config, config.seed);  // Its generations begin at a random number.
    Play play(1);
    for (int i = 0; i < 100; ++i) {
      play.Step(&state);
    }
    TableState::Contents contents(config);
    state.BeginAnew(&contents);
    std::vector<double> later;
    for (int i = 0; i < 100; ++i) {
      const std::vector<double> answer = play.Step(&state);
      later.insert(later.end(), answer.begin(), answer.end());
    }
    answers.push_back(std::move(later));
  }
  CHECK(answers[0] == answers[1]);
}

TEST_CASE("changes before and after a table begins anew are all recorded, of lost slots too", "[unit]") {
  TableConfig config = SmallTable();
  config.remover.kind = SelectorKind::kLifo;  // The last slots leave.
  for (uint64_t seed = 0; seed < 50; ++seed) {
    TableState state(config, config.seed);
    state.StartRecording(/*draws=*/true);
    Play play(seed);
    Mirror mirror;
    Rng rng(seed);
    for (int i = 0; i < 400; ++i) {
      play.Step(&state);
      if (rng.UniformInt(20) == 0) {
        mirror.Take(&state, rng.UniformInt(5));
      }
      if (rng.UniformInt(20) == 0) {
        TableState::Contents contents(config);
        state.BeginAnew(&contents);
      }
      if (rng.UniformInt(100) == 0) {
        TableState::Contents contents(config);
        state.Clear(&contents);
        mirror.items.clear();
      }
    }
    mirror.Take(&state, SIZE_MAX);
    REQUIRE(state.changed_slots() == 0);
    REQUIRE(static_cast<int64_t>(mirror.items.size()) == state.items());
    for (const auto& [slot, item] : mirror.items) {
      REQUIRE(state.GenerationAt(slot) == item.generation);
      const SampledItem now = state.ItemAt(slot);
      REQUIRE(now.priority == item.priority);
      REQUIRE(now.times_sampled == item.times_sampled);
    }
  }
}

}  // namespace
}  // namespace waggle
