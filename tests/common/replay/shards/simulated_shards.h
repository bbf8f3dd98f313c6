#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/config/table/shard_config.h"
#include "common/replay/shards/sharded_draws.h"
#include "replay_server/items/table_state.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// The tables of shards, and ShardedDraws for them, in one thread with a simulated clock.
class SimulatedShards {
 public:
  struct Item {
    int64_t id = 0;
    double probability = 0;
    double priority = 0;
    size_t shard = 0;
    uint64_t key = 0;
    uint64_t generation = 0;
  };
  struct Batch {
    std::vector<Item> items;
    ShardedDraws::Complete facts;
  };

  SimulatedShards(const TableConfig& table, int64_t shards, int64_t batch_size, int64_t prefetch = 1,
                  int64_t max_outstanding = kMaxOutstandingDraws, bool awaits_all = false)
      : batch_size_(batch_size), asked_(static_cast<size_t>(shards)), states_(static_cast<size_t>(shards)) {
    ShardedDrawsOptions options;
    options.table = table;
    options.batch_size = batch_size;
    options.prefetch = prefetch;
    options.max_outstanding = max_outstanding;
    options.awaits_all = awaits_all;
    for (int64_t i = 0; i < shards; ++i) {
      options.shards.push_back(ValueOf(ShardConfig(table, i, shards)));
      tables_.push_back(std::make_unique<TableState>(options.shards.back(), options.shards.back().seed));
    }
    configs_ = options.shards;
    draws_ = std::make_unique<ShardedDraws>(std::move(options));
  }

  ShardedDraws& draws() { return *draws_; }
  TableState& table(size_t shard) { return *tables_[shard]; }
  size_t shards() const { return tables_.size(); }
  absl::Time now() const { return now_; }
  // The most open requests of one shard.
  size_t most_asked() const { return most_asked_; }

  void Insert(size_t shard, int64_t id, double priority = 1) {
    tables_[shard]->Insert(OneRow(static_cast<uint64_t>(id), priority), &removed_);
  }
  bool CanInsert(size_t shard) const { return tables_[shard]->CanInsert(0); }

  void Open(size_t shard) {
    states_[shard].open = true;
    draws_->Opened(shard, now_);
  }
  void OpenAll() {
    for (size_t i = 0; i < shards(); ++i) {
      Open(i);
    }
  }
  // Ends the stream, with its open requests.
  void Kill(size_t shard) {
    states_[shard].open = false;
    asked_[shard].clear();
    draws_->Closed(shard, now_);
  }
  // Replaces the server by one without items.
  void Replace(size_t shard) { tables_[shard] = std::make_unique<TableState>(configs_[shard], 5); }
  // A paused shard answers nothing.
  void Pause(size_t shard, bool paused) { states_[shard].paused = paused; }

  // From now on shards answer in a random order, several requests in a row or few.
  void Shuffle(uint64_t seed) { order_.emplace(seed); }

  // Answers all requests, and those that follow.
  void Answer() {
    for (;;) {
      for (const ShardAsk& ask : draws_->TakeAsks()) {
        if (states_[ask.shard].open) {
          asked_[ask.shard].push_back(ask);
          most_asked_ = std::max(most_asked_, asked_[ask.shard].size());
        }
      }
      bool one_waits = false;
      for (size_t i = 0; i < shards(); ++i) {
        one_waits = one_waits || (!states_[i].paused && !asked_[i].empty());
      }
      if (!one_waits) {
        return;
      }
      for (size_t i = 0; i < shards(); ++i) {
        const size_t shard = order_.has_value() ? static_cast<size_t>(order_->UniformInt(shards())) : i;
        if (!states_[shard].paused && !asked_[shard].empty()) {
          AnswerOne(shard);
        }
      }
    }
  }

  // Lets time pass in steps, with answers in between.
  void Pass(absl::Duration time) {
    const absl::Time end = now_ + time;
    Answer();
    while (now_ < end) {
      now_ = std::min(end, std::max(draws_->NextTick(), now_ + absl::Microseconds(100)));
      draws_->Tick(now_);
      Answer();
    }
  }

  // Returns the next batch if it is complete now. Checks that it is whole.
  std::optional<Batch> TryTake() {
    Answer();
    std::optional<ShardedDraws::Complete> complete = draws_->Take(now_);
    if (!complete.has_value()) {
      return std::nullopt;
    }
    Batch batch;
    batch.facts = *complete;
    batch.items.resize(static_cast<size_t>(batch_size_));
    std::set<int64_t> filled;
    for (const ShardedDraws::Rows& rows : complete->rows) {
      const std::vector<Item>& items = parts_.at({rows.batch, rows.first});
      REQUIRE(static_cast<int64_t>(items.size()) == rows.count);
      for (int64_t i = 0; i < rows.count; ++i) {
        REQUIRE(filled.insert(rows.first + i).second);
        Item item = items[static_cast<size_t>(i)];
        item.probability *= complete->shares[rows.shard];
        batch.items[static_cast<size_t>(rows.first + i)] = item;
      }
    }
    REQUIRE(static_cast<int64_t>(filled.size()) == batch_size_);
    REQUIRE(*filled.rbegin() == batch_size_ - 1);
    parts_.erase(parts_.begin(), parts_.lower_bound({complete->number, 0}));
    return batch;
  }
  // Waits up to a second for the next batch.
  Batch Take() {
    for (int i = 0; i < 1000; ++i) {
      if (std::optional<Batch> batch = TryTake(); batch.has_value()) {
        return *std::move(batch);
      }
      Pass(absl::Milliseconds(1));
    }
    FAIL("no batch");
    return {};
  }

 private:
  struct State {
    bool open = false;
    bool paused = false;
  };

  void AnswerOne(size_t shard) {
    const ShardAsk ask = asked_[shard].front();
    asked_[shard].pop_front();
    const DrawRequest request{ask.items, ask.counted};
    REQUIRE(tables_[shard]->CanSample(request));  // No request may have to wait.
    const Sampled sampled = tables_[shard]->Sample(request, &removed_);
    const std::optional<ShardedDraws::Rows> rows =
        draws_->Answered(shard,
                         {sampled.table_items, sampled.priority_sum, sampled.min_probability, sampled.samples_allowed,
                          sampled.table_incarnation},
                         now_);
    REQUIRE(rows.has_value());
    REQUIRE(rows->count == static_cast<int64_t>(sampled.items.size()));
    if (rows->batch == 0) {
      return;
    }
    std::vector<Item> items;
    for (const SampledItem& item : sampled.items) {
      items.push_back({FirstId(item.window), item.probability, item.priority, shard, item.key, item.generation});
    }
    if (!items.empty()) {
      parts_[{rows->batch, rows->first}] = std::move(items);
      draws_->Stored(*rows, now_);
    }
  }

  const int64_t batch_size_;
  std::vector<TableConfig> configs_;
  std::vector<std::unique_ptr<TableState>> tables_;
  std::unique_ptr<ShardedDraws> draws_;
  std::vector<std::deque<ShardAsk>> asked_;
  size_t most_asked_ = 0;
  std::vector<State> states_;
  std::map<std::pair<uint64_t, int64_t>, std::vector<Item>> parts_;  // By batch and first row.
  RemovedRows removed_;
  std::optional<Rng> order_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
};

}  // namespace waggle::testing
