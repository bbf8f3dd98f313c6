// A loop whose lanes act in step, one unroll with each version of the weights.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "actor/acting/rollout_loop.h"
#include "common/base/threads/thread.h"
#include "tests/actor/rollout_fixture.h"
#include "tests/common/hub/ports/turn_hub.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle::testing {
namespace {

// Versions come when a test gives them.
struct UnrollFixture : RolloutFixture {
  explicit UnrollFixture(int64_t steps) : RolloutFixture({WindowPlan::Kind::kUnroll, steps + 1, steps + 1}) {
    options.rows_per_version = steps;
    options.version_patience = absl::InfiniteDuration();
    script->Add(SnapshotOf(1));
  }
  // Gives the loop newer weights, and waits until it has them: then it asks again.
  void GiveWeights(uint64_t version) {
    const size_t asked = script->Asked().size();
    script->Add(SnapshotOf(version));
    script->Add(std::optional<ModelSnapshot>());
    Eventually("newer weights", [&] { return script->Asked().size() == asked + 2; });
  }
};

struct Written {
  explicit Written(const std::string& row) {
    size_t at = 0;
    const auto take = [&](void* value, size_t bytes) {
      std::memcpy(value, row.data() + at, bytes);
      at += bytes;
    };
    take(observation, sizeof(observation));
    take(&action, sizeof(action));
    take(&reward, sizeof(reward));
    take(&discount, sizeof(discount));
    take(&step_type, sizeof(step_type));
    take(trace, sizeof(trace));
    REQUIRE(at == row.size());
  }

  float observation[3] = {};  // The environment, its episode, and the step there.
  int64_t action = -1;
  float reward = -1;
  float discount = -1;
  int32_t step_type = -1;
  float trace[2] = {};  // Episode and step.
};

void CheckActed(const Written& row) {
  REQUIRE(row.trace[0] == row.observation[1]);
  REQUIRE(row.trace[1] == row.observation[2]);
  REQUIRE(row.action == static_cast<int64_t>(row.observation[2]) % 3);
  REQUIRE(row.reward == (row.step_type == 2 ? 0 : 10 * row.observation[2] + static_cast<float>(row.action)));
}

void CheckOnlyShows(const Written& row) {
  REQUIRE(row.trace[0] == 0);
  REQUIRE(row.trace[1] == 0);
  REQUIRE(row.action == 0);
  REQUIRE(row.reward == 0);
  REQUIRE(row.discount == 0);
}

void CheckFollows(const Written& next, const Written& row) {
  REQUIRE(next.observation[0] == row.observation[0]);
  const bool ends = row.step_type == static_cast<int32_t>(StepType::kLast);
  REQUIRE(next.observation[1] == row.observation[1] + (ends ? 1 : 0));
  REQUIRE(next.observation[2] == (ends ? 0 : row.observation[2] + 1));
  REQUIRE((next.step_type == static_cast<int32_t>(StepType::kFirst)) == ends);
}

void CheckSame(const Written& next, const Written& row) {
  REQUIRE(std::memcmp(next.observation, row.observation, sizeof(row.observation)) == 0);
  REQUIRE(next.step_type == row.step_type);
}

// The version of each row of a lane, by its block.
std::map<uint64_t, uint64_t> Versions(const std::vector<InsertBlock>& blocks, uint32_t lane) {
  std::map<uint64_t, uint64_t> versions;
  for (const InsertBlock& block : blocks) {
    for (const ChunkInfo& chunk : block.chunks) {
      for (uint64_t row = chunk.first_row; chunk.stream == lane && row < chunk.first_row + chunk.rows; ++row) {
        versions[row] = block.policy_version;
      }
    }
  }
  return versions;
}

// Checks the rows of a loop that acted with version k + 1 in unroll k.
void CheckUnrolls(const UnrollFixture& fixture, uint64_t acts) {
  const auto steps = static_cast<uint64_t>(fixture.options.rows_per_version);
  const uint64_t length = steps + 1;
  const uint64_t unrolls = acts / steps;
  const auto streams =
      StreamsOf(fixture.sink.blocks, StreamColumns(fixture.environments->spec(), fixture.policy.columns()));
  for (uint32_t lane = 0; lane < RolloutFixture::kLanes; ++lane) {
    const std::vector<std::string>& rows = streams[lane].rows;
    const std::map<uint64_t, uint64_t> versions = Versions(fixture.sink.blocks, lane);
    REQUIRE(rows.size() == unrolls * length + acts % steps);
    REQUIRE(versions.size() == rows.size());
    for (uint64_t row = 0; row < rows.size(); ++row) {
      INFO("lane " << lane << ", row " << row << " of unrolls of " << length);
      REQUIRE(versions.at(row) == row / length + 1);
      const bool ends = row % length == steps;
      (ends ? CheckOnlyShows : CheckActed)(Written(rows[row]));
      if (row + 1 < rows.size()) {
        (ends ? CheckSame : CheckFollows)(Written(rows[row + 1]), Written(rows[row]));
      }
    }
    REQUIRE(streams[lane].items.size() == unrolls);
    for (uint64_t unroll = 0; unroll < unrolls; ++unroll) {
      REQUIRE(std::get<0>(streams[lane].items[unroll]) == unroll * length);
      REQUIRE(std::get<1>(streams[lane].items[unroll]) == length);
    }
  }
}

TEST_CASE("each unroll has one version, and its last row only shows the next one's first observation", "[unit]") {
  for (const int64_t steps : {1, 4, 5, 9}) {  // A block has 4 rows.
    for (const bool in_order : {true, false}) {
      UnrollFixture fixture(steps);
      if (!in_order) {
        fixture.Scramble(/*slow_lane=*/1, /*spread=*/3);
      }
      fixture.policy.on_act = [&fixture, steps](int64_t calls) {
        if (calls % steps == 0) {
          fixture.script->Add(SnapshotOf(static_cast<uint64_t>(calls / steps) + 2));
        }
      };
      const int64_t acts = 20 * steps + steps / 2;
      REQUIRE_OK(fixture.Run(acts));
      CheckUnrolls(fixture, static_cast<uint64_t>(acts));
    }
  }
}

TEST_CASE("weights that come during an unroll wait for its end", "[unit]") {
  constexpr int64_t kSteps = 6;
  UnrollFixture fixture(kSteps);
  fixture.options.max_block_age = absl::ZeroDuration();  // A block ends with every step.
  std::vector<uint64_t> acted_by;
  fixture.policy.on_act = [&](int64_t calls) {
    acted_by.push_back(fixture.policy.loaded.back());
    if (calls % kSteps == 1) {
      fixture.GiveWeights(acted_by.back() + 1);
    }
  };
  REQUIRE_OK(fixture.Run(3 * kSteps));
  std::vector<uint64_t> expected(kSteps, 1);
  expected.insert(expected.end(), kSteps, 2);
  expected.insert(expected.end(), kSteps, 3);
  REQUIRE(acted_by == expected);
}

TEST_CASE("after an unroll the loop waits for newer weights, and reports it", "[unit]") {
  constexpr int64_t kSteps = 5;
  UnrollFixture fixture(kSteps);
  std::atomic<int64_t> acts{0};
  fixture.policy.on_act = [&acts](int64_t) { ++acts; };
  absl::Status ran = absl::UnknownError("is running");
  Thread runner("loop", [&] { ran = fixture.Run(-1); });
  const auto wait = [&](int64_t unrolls) {
    Eventually("a wait for weights", [&] {
      return acts == unrolls * kSteps && fixture.metrics.TakeSnapshot().activity == "waiting for newer weights";
    });
  };
  for (int64_t unrolls = 1; unrolls < 4; ++unrolls) {
    wait(unrolls);
    CHECK(RowsOf(fixture.sink.blocks) == unrolls * (kSteps + 1));  // The learner has the unroll.
    fixture.script->Add(SnapshotOf(static_cast<uint64_t>(unrolls) + 1));
  }
  wait(4);
  fixture.stop.RequestStop();  // Ends the loop in peace.
  runner.Join();
  REQUIRE_OK(ran);
  CheckUnrolls(fixture, 4 * kSteps);
}

TEST_CASE("without a newer version the lanes act another unroll with the present one", "[unit]") {
  constexpr int64_t kSteps = 5;
  UnrollFixture fixture(kSteps);
  fixture.options.version_patience = absl::Milliseconds(1);
  REQUIRE_OK(fixture.Run(4 * kSteps + 2));
  REQUIRE(fixture.policy.loaded == std::vector<uint64_t>{1});
  REQUIRE(RowsOf(fixture.sink.blocks) == 4 * (kSteps + 1) + 2);
  for (const InsertBlock& block : fixture.sink.blocks) {
    REQUIRE(block.policy_version == 1);
  }
}

TEST_CASE("lanes act several unrolls by each version if that is their share", "[unit]") {
  constexpr int64_t kSteps = 5;
  UnrollFixture fixture(kSteps);
  fixture.unrolls_per_version = [] { return 3; };
  std::vector<uint64_t> acted_by;
  fixture.policy.on_act = [&](int64_t calls) {
    acted_by.push_back(fixture.policy.loaded.back());
    if (calls % (3 * kSteps) == 3 * kSteps - 2) {
      fixture.GiveWeights(acted_by.back() + 1);  // In its last unroll.
    }
  };
  REQUIRE_OK(fixture.Run(9 * kSteps));
  std::vector<uint64_t> expected;
  for (uint64_t version = 1; version <= 3; ++version) {
    expected.insert(expected.end(), 3 * kSteps, version);
  }
  CHECK(acted_by == expected);
}

TEST_CASE("weights that come before the last unroll of a share end it", "[unit]") {
  constexpr int64_t kSteps = 5;
  UnrollFixture fixture(kSteps);
  fixture.unrolls_per_version = [] { return 3; };
  std::vector<uint64_t> acted_by;
  fixture.policy.on_act = [&](int64_t calls) {
    acted_by.push_back(fixture.policy.loaded.back());
    if (calls == 1) {
      fixture.GiveWeights(2);
    }
  };
  REQUIRE_OK(fixture.Run(4 * kSteps));
  std::vector<uint64_t> expected(kSteps, 1);
  expected.insert(expected.end(), 3 * kSteps, 2);
  CHECK(acted_by == expected);
}

TEST_CASE("lanes whose share grows while they wait for weights act on", "[unit]") {
  constexpr int64_t kSteps = 5;
  UnrollFixture fixture(kSteps);
  std::atomic<int64_t> share{1};
  std::atomic<int64_t> acts{0};
  fixture.unrolls_per_version = [&share] { return share.load(); };
  fixture.policy.on_act = [&acts](int64_t) { ++acts; };
  absl::Status ran = absl::UnknownError("is running");
  Thread runner("loop", [&] { ran = fixture.Run(-1); });
  const auto wait = [&](int64_t unrolls) {
    Eventually("a wait for weights", [&] {
      return acts == unrolls * kSteps && fixture.metrics.TakeSnapshot().activity == "waiting for newer weights";
    });
  };
  wait(1);
  share = 2;  // Another actor is lost.
  wait(2);
  fixture.stop.RequestStop();
  runner.Join();
  REQUIRE_OK(ran);
  CHECK(fixture.policy.loaded == std::vector<uint64_t>{1});
}

TEST_CASE("lanes that await no versions act on, and take newer weights between unrolls", "[unit]") {
  constexpr int64_t kSteps = 5;
  UnrollFixture fixture(kSteps);
  fixture.options.awaits_versions = false;  // The patience is infinite: a wait would never end.
  std::vector<uint64_t> acted_by;
  fixture.policy.on_act = [&](int64_t calls) {
    acted_by.push_back(fixture.policy.loaded.back());
    if (calls == kSteps + 1) {
      fixture.GiveWeights(7);
    }
  };
  REQUIRE_OK(fixture.Run(4 * kSteps));
  std::vector<uint64_t> expected(2 * kSteps, 1);
  expected.insert(expected.end(), 2 * kSteps, 7);
  CHECK(acted_by == expected);
  REQUIRE(RowsOf(fixture.sink.blocks) == 4 * (kSteps + 1));
  const std::map<uint64_t, uint64_t> versions = Versions(fixture.sink.blocks, 0);
  for (const auto& [row, version] : versions) {
    CHECK(version == (row < 2 * (kSteps + 1) ? 1 : 7));
  }
}

TEST_CASE("lanes that await no versions wait for steps between unrolls, and continue with the newest weights",
          "[unit]") {
  constexpr int64_t kSteps = 5;
  constexpr int64_t kUnroll = kSteps * RolloutFixture::kLanes;
  UnrollFixture fixture(kSteps);
  fixture.options.awaits_versions = false;
  std::vector<uint64_t> acted_by;
  fixture.policy.on_act = [&](int64_t) { acted_by.push_back(fixture.policy.loaded.back()); };
  bool waited = false;
  int64_t used_before = 0;
  int64_t rows_before = 0;
  fixture.budget = std::make_unique<StepBudget>(
      1, Backoff(absl::Milliseconds(1), absl::Milliseconds(1), Rng(1)),
      [&](const StepRequest& request, const StopToken&) -> absl::StatusOr<int64_t> {
        if (!waited && request.used > 0 && fixture.budget->stats().waiting) {
          waited = true;
          used_before = static_cast<int64_t>(request.used);
          rows_before = RowsOf(fixture.sink.blocks);
          fixture.GiveWeights(7);
        }
        return waited ? 1'000'000 : 3 * kUnroll / 2;  // During an unroll.
      },
      fixture.stop);
  REQUIRE_OK(fixture.Run(10 * kSteps));
  REQUIRE(waited);
  CHECK(used_before >= 3 * kUnroll / 2);
  const auto first = static_cast<int64_t>(std::find(acted_by.begin(), acted_by.end(), 7) - acted_by.begin());
  CHECK(first % kSteps == 0);
  CHECK(first < 5 * kSteps);  // It waited there. First rows of episodes are no steps.
  CHECK(rows_before > 0);
  CHECK(rows_before % (kSteps + 1) == 0);  // Whole unrolls.
}

TEST_CASE("in lock-step a turn is an unroll, if unrolls have versions", "[unit]") {
  constexpr int64_t kSteps = 6;
  UnrollFixture fixture(kSteps);
  TurnHub hub(Role::kActor, 2);
  hub.over = fixture.stop;
  hub.on_turn = [&](int64_t turn, Assignment* assignment) {
    const int64_t turns_before = turn - (assignment->run_state == RunState::kFinishing ? 0 : 1);
    CHECK(RowsOf(fixture.sink.blocks) == turns_before * (kSteps + 1));
    fixture.script->Add(SnapshotOf(static_cast<uint64_t>(turn) + 1));
    assignment->model_version = ModelVersion{1, static_cast<uint64_t>(turn) + 1};
  };
  TurnTaker turns(&hub, Role::kActor);
  fixture.turns = &turns;
  REQUIRE_OK(fixture.Run(1'000));
  CHECK(hub.turn_done == 6);
}

TEST_CASE("lanes for which others wait act on without steps left, and report the used steps", "[unit]") {
  UnrollFixture fixture(6);
  fixture.options.version_patience = absl::ZeroDuration();
  constexpr int64_t kEnough = 20 * RolloutFixture::kLanes;
  fixture.budget = std::make_unique<StepBudget>(
      1, Backoff(absl::Milliseconds(1), absl::Milliseconds(1), Rng(1)),
      [&fixture](const StepRequest& request, const StopToken&) -> absl::StatusOr<int64_t> {
        if (request.used >= kEnough) {
          fixture.stop.RequestStop();  // As the hub ends a run.
        }
        return 0;
      },
      fixture.stop);
  REQUIRE_OK(fixture.Run(1'000'000'000));
  CHECK(fixture.env_steps() >= kEnough);
}

}  // namespace
}  // namespace waggle::testing
