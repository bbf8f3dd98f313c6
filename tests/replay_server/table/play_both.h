#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/replay_server/table/naive_table.h"
#include "tests/replay_server/table/table_fixture.h"

namespace waggle::testing {

// Plays random operations on a table and on a naive one, which have to agree after each.
class PlayBoth {
 public:
  PlayBoth(const TableConfig& config, uint64_t seed)
      : config_(config), state_(config, seed), naive_(config), rng_(seed) {}

  void Play(int operations) {
    for (int step = 0; step < operations; ++step) {
      const uint64_t choice = rng_.UniformInt(1000);
      if (choice < 550) {
        Insert();
      } else if (choice < 780) {
        Sample();
      } else if (choice < 940) {
        Update();
      } else if (choice < 990) {
        Delete();
      } else if (choice < 998) {
        Reconfigure();
      } else {
        Clear();
      }
      Compare();
    }
  }

 private:
  using Address = std::pair<uint64_t, uint64_t>;  // Key and generation.

  // What has left since the last call.
  std::vector<int64_t> Left() {
    std::vector<int64_t> ids;
    for (const WindowChunks& chunks : removed_) {
      ids.push_back(FirstId({chunks, 0, 1, 0}));
    }
    removed_.clear();
    left_ += static_cast<int64_t>(ids.size());
    return ids;
  }

  double RandomPriority() {
    const auto priority = static_cast<double>(rng_.UniformInt(5));
    return config_.sampler.absolute_priorities && rng_.UniformInt(2) == 0 ? -priority : priority;
  }

  // Rows are numbered as items, so that an item is known by its first row; a second chunk is shared.
  void Insert() {
    REQUIRE(state_.CanInsert(0) == naive_.CanInsert());
    if (!naive_.CanInsert()) {
      return;
    }
    std::vector<ChunkRef> chunks =
        MakeRows(0, static_cast<uint64_t>(next_id_), {1 + static_cast<uint32_t>(rng_.UniformInt(3))});
    if (!recent_.empty() && rng_.UniformInt(2) == 0) {
      chunks.push_back(recent_[rng_.UniformInt(recent_.size())]);
    }
    recent_.push_back(chunks[0]);
    if (recent_.size() > 50) {
      recent_.erase(recent_.begin());
    }
    NewItem item = MakeItem(chunks, 0, 1, RandomPriority());
    item.highest_priority = rng_.UniformInt(4) == 0;
    state_.Insert(item, &removed_);
    naive_.Insert(next_id_, item, Left());
    ++next_id_;
  }

  void Sample() {
    const auto items = static_cast<int64_t>(rng_.UniformInt(6));
    const DrawRequest request{items,
                              items > 0 && rng_.UniformInt(4) > 0 ? items : static_cast<int64_t>(rng_.UniformInt(4))};
    REQUIRE(state_.CanSample(request) == naive_.CanSample(request));
    if (!naive_.CanSample(request)) {
      REQUIRE(!state_.WhyNoSample(request).empty());
      return;
    }
    const double sum = naive_.PrioritySum();
    const Sampled sampled = state_.Sample(request, &removed_);
    REQUIRE(sampled.items.size() == static_cast<size_t>(items));
    REQUIRE(sampled.priority_sum == Approx(sum));
    REQUIRE(sampled.table_items == static_cast<int64_t>(naive_.items().size()));
    naive_.CountSamples(request.counted);
    // Of a batch of different items the probabilities are those before it; of another one, of which items may leave in
    // the middle, those that the draws before have left.
    const bool distinct = config_.sampler.without_replacement;
    const bool ordered =
        config_.sampler.kind != SelectorKind::kUniform && config_.sampler.kind != SelectorKind::kPrioritized;
    std::map<int64_t, double> before;
    for (const NaiveTable::Item& item : naive_.items()) {
      before[item.id] = naive_.Probability(item.id);
    }
    std::vector<int64_t> exhausted;
    std::set<int64_t> seen;
    for (const SampledItem& item : sampled.items) {
      const int64_t id = FirstId(item.window);
      REQUIRE((seen.insert(id).second || !distinct));
      REQUIRE(generations_.emplace(item.generation, id).first->second == id);
      addresses_[{item.key, item.generation}] = id;
      REQUIRE(naive_.Find(id) != nullptr);
      double probability = distinct ? before.at(id) : naive_.Probability(id);
      if (distinct && ordered) {
        probability = 1;  // The next in the order.
      } else if (distinct && probability == 0) {
        probability = 1 / static_cast<double>(before.size());  // It fills a batch up.
      }
      if (naive_.Draw(id, item, probability)) {
        exhausted.push_back(id);
      }
    }
    REQUIRE(Left() == exhausted);
  }

  // A random item that was sampled once.
  std::pair<Address, int64_t> Seen() {
    auto it = addresses_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.UniformInt(addresses_.size())));
    const std::pair<Address, int64_t> seen = *it;
    if (addresses_.size() > 200) {
      addresses_.erase(it);
    }
    return seen;
  }

  void Update() {
    if (addresses_.empty()) {
      return;
    }
    const auto [address, id] = Seen();
    const double priority = RandomPriority();
    NaiveTable::Item* known = naive_.Find(id);
    Check(state_.UpdatePriorities({address.first}, {address.second}, {priority}), known != nullptr);
    if (known != nullptr) {
      known->priority = naive_.Magnitude(priority);
    }
  }

  void Delete() {
    if (addresses_.empty()) {
      return;
    }
    const auto [address, id] = Seen();
    const bool known = naive_.Find(id) != nullptr;
    Check(state_.Delete({address.first}, {address.second}, &removed_), known);
    REQUIRE(Left() == (known ? std::vector<int64_t>{id} : std::vector<int64_t>{}));
    if (known) {
      naive_.Remove(id);
    }
  }

  static void Check(const PriorityUpdateCounts& counts, bool applied) {
    REQUIRE(counts.applied == (applied ? 1 : 0));
    REQUIRE(counts.stale + counts.unknown == (applied ? 0 : 1));
  }

  void Reconfigure() {
    config_.max_items = 1 + static_cast<int64_t>(rng_.UniformInt(40));
    config_.max_times_sampled = static_cast<int64_t>(rng_.UniformInt(4));
    config_.max_bytes = (5 + static_cast<int64_t>(rng_.UniformInt(20))) * OneRow(0).window.chunks[0]->block_bytes();
    config_.sampler.priority_exponent = 0.5 * static_cast<double>(rng_.UniformInt(4));
    config_.rate_limiter.min_items =
        1 + static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(config_.max_items)));
    config_.rate_limiter.samples_per_insert = static_cast<double>(rng_.UniformInt(3));
    config_.rate_limiter.error_buffer = 4 + static_cast<double>(rng_.UniformInt(9));
    REQUIRE_OK(config_.Validate());
    state_.Reconfigure(config_, &removed_);
    naive_.Reconfigure(config_, Left());
  }

  void Clear() {
    TableState::Contents contents(config_);
    REQUIRE(state_.Clear(&contents) == static_cast<int64_t>(naive_.items().size()));
    left_ += static_cast<int64_t>(naive_.items().size());
    naive_.Clear();
  }

  void Compare() {
    REQUIRE(removed_.empty());
    REQUIRE(state_.items() == static_cast<int64_t>(naive_.items().size()));
    REQUIRE(state_.bytes() == naive_.Bytes());
    REQUIRE(state_.PrioritySum() == Approx(naive_.PrioritySum()));
    REQUIRE(state_.items_inserted() == next_id_);
    REQUIRE(state_.items_inserted() == state_.items() + state_.items_removed());
    REQUIRE(left_ == state_.items_removed());
  }

  TableConfig config_;
  TableState state_;
  NaiveTable naive_;
  Rng rng_;
  RemovedRows removed_;
  std::vector<ChunkRef> recent_;
  std::map<Address, int64_t> addresses_;     // Of sampled items, with their ids.
  std::map<uint64_t, int64_t> generations_;  // Of which item, by its id: none is used twice.
  int64_t next_id_ = 0;
  int64_t left_ = 0;
};

}  // namespace waggle::testing
