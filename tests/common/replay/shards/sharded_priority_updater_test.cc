#include "common/replay/shards/sharded_priority_updater.h"

#include <cmath>
#include <limits>

#include "common/replay/shards/shard_key.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Received {
  std::vector<uint64_t> keys;
  std::vector<uint64_t> generations;
  std::vector<double> priorities;
  int flushes = 0;
  absl::Status flushed;
};

class FakeUpdater final : public PriorityUpdater {
 public:
  explicit FakeUpdater(Received* received) : received_(received) {}
  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override {
    received_->keys = std::move(keys);
    received_->generations = std::move(generations);
    received_->priorities = std::move(priorities);
    return absl::OkStatus();
  }
  absl::Status Flush(absl::Duration /*timeout*/) override {
    ++received_->flushes;
    return received_->flushed;
  }
  PriorityUpdateCounts counts() const override { return {received_->keys.size(), 1, 2}; }

 private:
  Received* const received_;
};

struct Fixture {
  Fixture() {
    std::vector<std::unique_ptr<PriorityUpdater>> parts;
    for (Received& one : received) {
      parts.push_back(std::make_unique<FakeUpdater>(&one));
    }
    updater = std::make_unique<ShardedPriorityUpdater>(std::move(parts));
  }
  Received received[3];
  std::unique_ptr<ShardedPriorityUpdater> updater;
};

}  // namespace

TEST_CASE("updates go to the shards of their keys", "[unit]") {
  Fixture fixture;
  REQUIRE_OK(fixture.updater->Update({ShardedKey(2, 7), ShardedKey(0, 8), ShardedKey(2, 9), ShardedKey(3, 1)},
                                     {1, 2, 3, 4}, {0.1, 0.2, 0.3, 0.4}));
  REQUIRE(fixture.received[2].keys == std::vector<uint64_t>{7, 9});
  REQUIRE(fixture.received[2].generations == std::vector<uint64_t>{1, 3});
  REQUIRE(fixture.received[2].priorities == std::vector<double>{0.1, 0.3});
  REQUIRE(fixture.received[0].keys == std::vector<uint64_t>{8});
  REQUIRE(fixture.received[1].keys.empty());
  const PriorityUpdateCounts counts = fixture.updater->counts();
  REQUIRE(counts.applied == 3);
  REQUIRE(counts.stale == 3);
  REQUIRE(counts.unknown == 6 + 1);  // One key is of an unknown shard.
}

TEST_CASE("no update is sent if one of them is wrong", "[unit]") {
  Fixture fixture;
  REQUIRE_CODE(fixture.updater->Update({1, ShardedKey(1, 1)}, {1, 1}, {1, -1}), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(fixture.updater->Update({1, ShardedKey(1, 1)}, {1, 1}, {1, std::nan("")}),
               absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(fixture.updater->Update({1, 2}, {1}, {1, 1}), absl::StatusCode::kInvalidArgument);
  for (const Received& received : fixture.received) {
    REQUIRE(received.keys.empty());
  }
}

TEST_CASE("priorities may be negative if magnitudes count", "[unit]") {
  Received received;
  std::vector<std::unique_ptr<PriorityUpdater>> parts;
  parts.push_back(std::make_unique<FakeUpdater>(&received));
  ShardedPriorityUpdater updater(std::move(parts), /*takes_magnitudes=*/true);
  REQUIRE_OK(updater.Update({1}, {1}, {-1}));
  REQUIRE(received.priorities == std::vector<double>{-1});
  REQUIRE_CODE(updater.Update({1}, {1}, {-std::numeric_limits<double>::infinity()}),
               absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a flush reaches all shards, also after one has failed", "[unit]") {
  Fixture fixture;
  fixture.received[0].flushed = absl::DeadlineExceededError("slow");
  REQUIRE_CODE(fixture.updater->Flush(absl::Seconds(1)), absl::StatusCode::kDeadlineExceeded);
  for (const Received& received : fixture.received) {
    REQUIRE(received.flushes == 1);
  }
}

}  // namespace waggle
