#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "replay_server/batches/pinned_rows.h"
#include "replay_server/rows/chunk_tiers.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/replay_server/table/random_play.h"
#include "tests/replay_server/table/table_fixture.h"

namespace waggle::testing {

// Plays random operations on a table and on a naive one, which must agree after each.
class PlayBoth : private RandomPlay {
 public:
  // Rows past a memory_limit are on a fake disk. `server_bytes` is the limit of all tables of its server; 0 if none.
  PlayBoth(const TableConfig& config, uint64_t seed, int64_t server_bytes = 0)
      : RandomPlay(config, seed),
        server_bytes_(server_bytes),
        tier_(config.memory_limit > 0 ? tiers_.New(config.name, config.memory_limit) : nullptr),
        memory_(server_bytes > 0 ? std::make_shared<MemoryAccount>(server_bytes) : nullptr),
        state_(config, seed, memory_) {
    naive_.SetServerBytes(server_bytes_, others_);
  }

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
      if (memory_ != nullptr && rng_.UniformInt(50) == 0) {
        ChangeOthers();
      }
      Compare();
    }
  }

 private:
  // Other tables of the server grow or shrink.
  void ChangeOthers() {
    const auto others = static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(server_bytes_) * 5 / 4));
    memory_->Add(others - others_);
    others_ = others;
    naive_.SetServerBytes(server_bytes_, others_);
  }

  // Rows may be on disk.
  static int64_t IdOf(const Window& window) {
    PinnedRows pinned;
    REQUIRE_OK(pinned.Pin(window));
    return FirstId(window);
  }

  // The items that have left since the last call.
  std::vector<int64_t> Left() {
    std::vector<int64_t> ids;
    for (const WindowChunks& chunks : removed_) {
      ids.push_back(IdOf({chunks, 0, 1, 0}));
    }
    removed_.clear();
    left_ += static_cast<int64_t>(ids.size());
    return ids;
  }

  // Rows have the numbers of items, so the first row identifies an item. A second chunk is shared.
  void Insert() {
    REQUIRE(state_.CanInsert(0) == naive_.CanInsert());
    if (!naive_.CanInsert()) {
      return;
    }
    BlockHome home;
    home.tier = tier_;
    std::vector<ChunkRef> chunks =
        MakeRows(0, static_cast<uint64_t>(next_id_), {1 + static_cast<uint32_t>(rng_.UniformInt(3))}, home);
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
    const DrawRequest request = RandomDraw(5);
    REQUIRE(state_.CanSample(request) == naive_.CanSample(request));
    if (!naive_.CanSample(request)) {
      REQUIRE(!state_.WhyNoSample(request).empty());
      return;
    }
    const double sum = naive_.PrioritySum();
    const Sampled sampled = state_.Sample(request, &removed_);
    REQUIRE(sampled.items.size() == static_cast<size_t>(request.items));
    REQUIRE(sampled.priority_sum == Approx(sum));
    REQUIRE(sampled.table_items == static_cast<int64_t>(naive_.items().size()));
    naive_.CountSamples(request.counted);
    BatchCheck check(this);
    std::vector<int64_t> exhausted;
    for (const SampledItem& item : sampled.items) {
      const int64_t id = IdOf(item.window);
      REQUIRE(generations_.emplace(item.generation, id).first->second == id);
      if (check.Draw(id, item)) {
        exhausted.push_back(id);
      }
    }
    REQUIRE(Left() == exhausted);
  }

  void Update() {
    if (addresses_.empty()) {
      return;
    }
    const auto [address, id] = Seen(200);
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
    const auto [address, id] = Seen(200);
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
    ChangeConfig(1, 40, 4);
    config_.max_bytes = (5 + static_cast<int64_t>(rng_.UniformInt(20))) * OneRow(0).window.chunks[0]->block_bytes();
    if (config_.memory_limit > 0) {
      config_.memory_limit = 1 + static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(config_.max_bytes)));
    }
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
    REQUIRE((memory_ == nullptr || memory_->used() == others_ + naive_.InMemory()));
    REQUIRE(state_.PrioritySum() == Approx(naive_.PrioritySum()));
    REQUIRE(state_.items_inserted() == next_id_);
    REQUIRE(state_.items_inserted() == state_.items() + state_.items_removed());
    REQUIRE(left_ == state_.items_removed());
  }

  const int64_t server_bytes_;
  int64_t others_ = 0;
  ChunkTiers tiers_{std::make_shared<FakeColdRows>()};
  const std::shared_ptr<ChunkTier> tier_;
  const std::shared_ptr<MemoryAccount> memory_;
  TableState state_;
  RemovedRows removed_;
  std::vector<ChunkRef> recent_;
  std::map<uint64_t, int64_t> generations_;  // The id of each generation's item: no generation is used twice.
  int64_t next_id_ = 0;
  int64_t left_ = 0;
};

}  // namespace waggle::testing
