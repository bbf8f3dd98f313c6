#include "actor/acting/rollout_loop.h"

#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "common/base/threads/thread.h"
#include "tests/actor/fakes.h"
#include "tests/actor/rollout_fixture.h"
#include "tests/common/hub/ports/turn_hub.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr int64_t kLanes = RolloutFixture::kLanes;
constexpr int64_t kChunkRows = RolloutFixture::kChunkRows;

// Version 1 of the weights is there.
struct ReadyFixture : RolloutFixture {
  ReadyFixture() { script->Add(SnapshotOf(1)); }
};

TEST_CASE("the loop writes every row that it acted on, the last ones included, and stops without an error", "[unit]") {
  RolloutFixture fixture;
  fixture.script->Add(SnapshotOf(7));
  REQUIRE_OK(fixture.Run(30));
  REQUIRE(fixture.first_steps == 1);
  REQUIRE(RowsOf(fixture.sink.blocks) == 30);
  REQUIRE(fixture.sink.blocks.size() == 8);
  REQUIRE(RowsOfLane(fixture.sink.blocks.back()) == 2);
  for (const InsertBlock& block : fixture.sink.blocks) {
    REQUIRE(block.policy_version == 7);
  }
  REQUIRE(fixture.policy.loaded == std::vector<uint64_t>{7});
}

TEST_CASE("observations, actions, rewards and the policy's columns of a row belong together", "[unit]") {
  ReadyFixture fixture;
  REQUIRE_OK(fixture.Run(200));
  int64_t last_rows = 0;
  for (const InsertBlock& block : fixture.sink.blocks) {
    const char* at = block.data.slices().at(0).data;
    const size_t rows = static_cast<size_t>(kLanes * RowsOfLane(block));
    const auto take = [&at, rows](size_t row_bytes) { return std::exchange(at, at + rows * row_bytes); };
    const auto* observations = reinterpret_cast<const float*>(take(12));
    const char* actions = take(8);
    const auto* rewards = reinterpret_cast<const float*>(take(4));
    const auto* discounts = reinterpret_cast<const float*>(take(4));
    const auto* step_types = reinterpret_cast<const int32_t*>(take(4));
    const auto* trace = reinterpret_cast<const float*>(take(8));
    for (size_t i = 0; i < rows; ++i) {
      const float episode = observations[3 * i + 1];
      const float step = observations[3 * i + 2];
      int64_t action = 0;
      std::memcpy(&action, actions + 8 * i, sizeof(action));
      REQUIRE(trace[2 * i] == episode);
      REQUIRE(trace[2 * i + 1] == step);
      REQUIRE(action == static_cast<int64_t>(step) % 3);
      REQUIRE((step_types[i] == 0) == (step == 0));
      const bool last = step_types[i] == 2;
      last_rows += last;
      REQUIRE(rewards[i] == (last ? 0 : 10 * step + static_cast<float>(action)));
      REQUIRE((discounts[i] == 0 || discounts[i] == 1));
    }
  }
  REQUIRE(last_rows > 50);
}

TEST_CASE("lanes that answer in any order, one of them ten times slower, have the streams of lanes in step", "[unit]") {
  RolloutFixture in_step;
  in_step.script->Add(SnapshotOf(1));
  REQUIRE_OK(in_step.Run(600));
  const std::vector<ArraySpec> signature = StreamColumns(in_step.environments->spec(), in_step.policy.columns());
  size_t row_bytes = 0;
  for (const ArraySpec& column : signature) {
    row_bytes += static_cast<size_t>(column.NumBytes());
  }
  const std::vector<LaneStream> expected = StreamsOf(in_step.sink.blocks, signature);
  // Slow lane, spread of the others' times, lanes to wait for.
  const std::vector<std::tuple<int64_t, uint64_t, int64_t>> cases = {{1, 3, 1}, {0, 1, 2}, {-1, 2, 1}, {-1, 1, 99}};
  for (const auto& [slow_lane, spread, min_ready_lanes] : cases) {
    INFO("slow: " << slow_lane << ", spread: " << spread << ", waits for " << min_ready_lanes);
    RolloutFixture fixture;
    fixture.options.min_ready_lanes = min_ready_lanes;
    ScrambledEnvironment* const scrambled = fixture.Scramble(slow_lane, spread);
    fixture.script->Add(SnapshotOf(1));
    REQUIRE_OK(fixture.Run(600));
    const std::vector<LaneStream> streams = StreamsOf(fixture.sink.blocks, signature);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      INFO("lane " << lane);
      const std::vector<std::string>& rows = streams[lane].rows;
      REQUIRE(rows.size() > 30);
      REQUIRE(rows.size() <= expected[lane].rows.size());
      for (size_t row = 0; row < rows.size(); ++row) {
        REQUIRE(rows[row].size() == row_bytes);
        REQUIRE(rows[row] == expected[lane].rows[row]);
      }
      const auto& items = streams[lane].items;
      REQUIRE(items.size() > 15);
      REQUIRE(items == decltype(LaneStream::items)(expected[lane].items.begin(),
                                                   expected[lane].items.begin() + static_cast<int64_t>(items.size())));
    }
    if (slow_lane >= 0) {
      const auto slow = static_cast<size_t>(slow_lane);
      CHECK(10 * streams[slow].rows.size() < 2 * streams[(slow + 1) % kLanes].rows.size());
    }
    CHECK((scrambled->partial_batches() == 0) == (min_ready_lanes == 99));
    CHECK(scrambled->whole_batches() > (slow_lane < 0 ? 50 : 0));
    Metrics::Snapshot metrics = fixture.metrics.TakeSnapshot();
    REQUIRE(metrics.counters["env_steps"] == static_cast<double>(fixture.env_steps()));
    CHECK(metrics.gauges["return_mean"] > 30);
  }
}

TEST_CASE("a stop while no lane is ready ends the loop without an error, and complete rows are written", "[unit]") {
  ReadyFixture fixture;
  ScrambledEnvironment* const scrambled = fixture.Scramble(-1, 1);
  Thread stopper;
  fixture.policy.on_act = [&](int64_t calls) {
    if (calls == 2) {
      scrambled->Hang();
      stopper = Thread("stopper", [&fixture] { fixture.stop.RequestStop(); });
    }
  };
  REQUIRE_OK(fixture.Run(-1));
  CHECK(fixture.policy.calls == 3);
  CHECK(RowsOf(fixture.sink.blocks) == 2);
}

TEST_CASE("newer weights are taken between blocks, and a block names the version that acted", "[unit]") {
  ReadyFixture fixture;
  fixture.policy.on_act = [&fixture](int64_t calls) {
    if (calls == 1) {
      fixture.script->Add(SnapshotOf(5));
    }
    // Within a block of the new weights, so that the loop cannot end before they arrive.
    if (calls > 1 && fixture.policy.loaded.back() == 5 && calls % kChunkRows == 1) {
      fixture.stop.RequestStop();
    }
  };
  REQUIRE_OK(fixture.Run(-1));
  REQUIRE(fixture.policy.loaded == std::vector<uint64_t>{1, 5});
  REQUIRE(fixture.sink.blocks.front().policy_version == 1);
  REQUIRE(fixture.sink.blocks.back().policy_version == 5);
  for (size_t i = 1; i + 1 < fixture.sink.blocks.size(); ++i) {
    REQUIRE(fixture.sink.blocks[i].policy_version == 1);
    REQUIRE(RowsOfLane(fixture.sink.blocks[i]) == kChunkRows);
  }
}

TEST_CASE("if the learner computes actions, a block names its oldest version, and the loop waits for no weights",
          "[unit]") {
  RolloutFixture fixture;
  fixture.has_weights = false;
  // Three acts in a row have the same version, as their answers come from one batch: 0, 0, 0, 3, 3, 3, …
  fixture.policy.on_act = [&fixture](int64_t calls) {
    fixture.policy.acted = ModelVersion{1, static_cast<uint64_t>(calls / 3 * 3)};
  };
  REQUIRE_OK(fixture.Run(5 * kChunkRows));
  CHECK(fixture.policy.loaded.empty());
  REQUIRE(fixture.sink.blocks.size() == 5);
  for (size_t block = 0; block < 5; ++block) {
    REQUIRE(RowsOfLane(fixture.sink.blocks[block]) == kChunkRows);
    CHECK(fixture.sink.blocks[block].policy_version == block * kChunkRows / 3 * 3);
  }
}

TEST_CASE("on_weights is called for each version before its first act, and the loop returns its error", "[unit]") {
  ReadyFixture fixture;
  std::vector<uint64_t> told;
  fixture.on_weights = [&](const ModelSnapshot& snapshot) {
    told.push_back(snapshot.version.version);
    return told.size() == 3 ? absl::FailedPreconditionError("of another network") : absl::OkStatus();
  };
  size_t given = 1;
  fixture.policy.on_act = [&](int64_t) {
    CHECK(told == fixture.policy.loaded);
    if (told.size() == given) {
      ++given;
      fixture.script->Add(SnapshotOf(told.back() + 4));
    }
  };
  REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kFailedPrecondition);
  CHECK(told == std::vector<uint64_t>{1, 5, 9});
}

TEST_CASE("the loop continues with old weights while the server is away", "[unit]") {
  ReadyFixture fixture;
  for (int i = 0; i < 1000; ++i) {
    fixture.script->Add(absl::UnavailableError("connection refused"));
  }
  REQUIRE_OK(fixture.Run(100));
  REQUIRE(RowsOf(fixture.sink.blocks) == 100);
}

TEST_CASE("a block that gathers for too long is handed over before it is full", "[unit]") {
  ReadyFixture fixture;
  fixture.options.max_block_age = absl::ZeroDuration();
  REQUIRE_OK(fixture.Run(5));
  REQUIRE(fixture.sink.blocks.size() == 5);
}

TEST_CASE("returns are of the environment's own rewards, even if transformed rewards are learned from", "[unit]") {
  class Changed : public LocalVectorEnvironment {
   public:
    using LocalVectorEnvironment::LocalVectorEnvironment;
    absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override {
      absl::StatusOr<ReadyLanes> ready = LocalVectorEnvironment::Recv(at_least, stop);
      if (ready.ok()) {
        ready->raw_rewards = raw_.data();
      }
      return ready;
    }

   private:
    const std::vector<double> raw_ = std::vector<double>(RolloutFixture::kLanes, 1000);
  };
  ReadyFixture fixture;
  fixture.environments = std::make_unique<Changed>(ValueOf(MakeEnvironments(
      CountingEnvironment::Definition(RolloutFixture::kMaxSteps), EnvironmentOptions(), kLanes, Rng(3))));
  REQUIRE_OK(fixture.Run(100));
  CHECK(fixture.metrics.TakeSnapshot().gauges["return_mean"] >= 1000);
}

TEST_CASE("the metrics count steps, episodes, items and waits", "[unit]") {
  RolloutFixture fixture;
  fixture.script->Add(SnapshotOf(11));
  fixture.sink.on_append = [&fixture](const StopToken&) {
    fixture.sink.stats_.waited += absl::Hours(1);  // More than the interval, so the fraction is 1.
    return absl::OkStatus();
  };
  const absl::Time before = absl::Now();
  REQUIRE_OK(fixture.Run(400));
  Metrics::Snapshot metrics = fixture.metrics.TakeSnapshot();
  REQUIRE(metrics.counters["env_steps"] == static_cast<double>(fixture.env_steps()));
  int64_t items = 0;
  for (const InsertBlock& block : fixture.sink.blocks) {
    items += static_cast<int64_t>(block.items.size());
  }
  REQUIRE(metrics.counters["items_written"] == static_cast<double>(items));
  REQUIRE(metrics.counters["episodes"] > 100);
  REQUIRE(metrics.gauges["policy_version"] == 11);
  REQUIRE(metrics.gauges["waiting_fraction"] == 1);
  REQUIRE(metrics.gauges["room_waiting_fraction"] == 1);
  REQUIRE(metrics.gauges.count("actions_waiting_fraction") == 0);
  REQUIRE(metrics.gauges["environment_fraction"] > 0);
  REQUIRE(metrics.gauges["environment_fraction"] < 1);
  // Episodes of 1 to 6 steps, rewards 0, 11, 22, 30, 41, 52.
  REQUIRE(metrics.gauges["return_mean"] > 30);
  REQUIRE(metrics.gauges["return_mean"] < 100);
  REQUIRE(metrics.gauges["first_env_step_unix_seconds"] >= absl::ToDoubleSeconds(before - absl::UnixEpoch()));
  REQUIRE(metrics.activity == "stopped");
}

TEST_CASE("the activity shows that the loop waits for room", "[unit]") {
  ReadyFixture fixture;
  Metrics::Snapshot stuck;
  fixture.sink.on_append = [&](const StopToken&) {
    fixture.sink.stats_.waiting = true;
    stuck = fixture.metrics.TakeSnapshot();
    fixture.sink.stats_.waiting = false;
    return absl::OkStatus();
  };
  Metrics::Snapshot acting;
  fixture.policy.on_act = [&](int64_t calls) {
    if (calls == 10) {
      acting = fixture.metrics.TakeSnapshot();
    }
  };
  REQUIRE_OK(fixture.Run(20));
  CHECK(stuck.activity == "waiting for room in replay");
  CHECK(acting.activity == "acting");
}

TEST_CASE("the loop takes its allowed steps, hands their rows over and waits for more", "[unit]") {
  ReadyFixture fixture;
  constexpr int64_t kAllowed = 100;
  int64_t rows_before_wait = -1;
  Metrics::Snapshot waiting;
  fixture.budget = std::make_unique<StepBudget>(
      kLanes * kChunkRows, Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
      [&](const StepRequest& request, const StopToken&) -> absl::StatusOr<int64_t> {
        if (request.used >= kAllowed && fixture.budget->stats().waiting) {
          rows_before_wait = RowsOf(fixture.sink.blocks);
          waiting = fixture.metrics.TakeSnapshot();
          fixture.stop.RequestStop();
        }
        return kAllowed;
      },
      fixture.stop);
  REQUIRE_OK(fixture.Run(-1));
  CHECK(fixture.env_steps() >= kAllowed);
  CHECK(fixture.env_steps() < kAllowed + kLanes);
  CHECK(rows_before_wait == fixture.policy.calls);
  CHECK(RowsOf(fixture.sink.blocks) == rows_before_wait);
  CHECK(waiting.activity == "waiting for steps");
  CHECK(waiting.counters["env_steps"] == static_cast<double>(fixture.env_steps()));
}

TEST_CASE("a stop while waiting for the first weights ends the loop without an error", "[unit]") {
  RolloutFixture fixture;
  fixture.stop.RequestStop();
  REQUIRE_OK(fixture.Run(-1));
  REQUIRE(fixture.sink.blocks.empty());
}

TEST_CASE("a stop while the writer waits for room ends the loop without an error", "[unit]") {
  ReadyFixture fixture;
  fixture.options.drain_timeout = absl::Milliseconds(1);
  Thread stopper;
  fixture.sink.on_append = [&](const StopToken& stop) {
    stopper = Thread("stopper", [&fixture] { fixture.stop.RequestStop(); });
    stop.Wait();
    return absl::CancelledError("stopped while waiting for room");
  };
  REQUIRE_OK(fixture.Run(-1));
}

TEST_CASE("rows without room after a stop are given up after a while", "[unit]") {
  ReadyFixture fixture;
  fixture.options.drain_timeout = absl::Milliseconds(1);
  fixture.sink.on_append = [](const StopToken& stop) {
    stop.Wait();
    return absl::CancelledError("stopped while waiting for room");
  };
  REQUIRE_OK(fixture.Run(2));
}

TEST_CASE("errors of the policy, the writer, the environment and the weights are final", "[unit]") {
  ReadyFixture fixture;
  SECTION("the policy cannot act") {
    fixture.policy.act_result = absl::InternalError("out of memory");
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kInternal);
  }
  SECTION("the writer refuses a block") {
    fixture.sink.on_append = [](const StopToken&) { return absl::InvalidArgumentError("observation is nan"); };
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kInvalidArgument);
  }
  SECTION("the weights are of another network") {
    fixture.policy.load_result = absl::FailedPreconditionError("another network");
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kFailedPrecondition);
    REQUIRE(fixture.policy.calls == 0);
  }
  SECTION("the hub refuses steps") {
    fixture.budget = std::make_unique<StepBudget>(
        1, Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
        [](const StepRequest&, const StopToken&) { return absl::FailedPreconditionError("no limit"); }, fixture.stop);
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kFailedPrecondition);
    REQUIRE(fixture.policy.calls == 0);
  }
  SECTION("weights cannot be fetched") {
    fixture.script->Add(absl::PermissionDeniedError("no"));
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kPermissionDenied);
  }
}

TEST_CASE(
    "in lock-step the loop acts one block in each turn, by the newest weights, and the block is in replay at the "
    "turn's end",
    "[unit]") {
  RolloutFixture fixture;
  testing::TurnHub hub(Role::kActor, 3);
  hub.over = fixture.stop;
  fixture.options.max_block_age = absl::ZeroDuration();  // Has no effect.
  hub.on_turn = [&](int64_t turn, Assignment* assignment) {
    const int64_t turns_before = turn - (assignment->run_state == RunState::kFinishing ? 0 : 1);
    CHECK(testing::RowsOf(fixture.sink.blocks) == turns_before * RolloutFixture::kChunkRows);
    CHECK(fixture.sink.flushes == turns_before);
    CHECK(hub.turn_done == 3 * static_cast<uint64_t>(turns_before));
    fixture.script->Add(SnapshotOf(static_cast<uint64_t>(turn)));
    assignment->model_version = ModelVersion{1, static_cast<uint64_t>(turn)};
  };
  TurnTaker turns(&hub, Role::kActor);
  fixture.turns = &turns;
  REQUIRE_OK(fixture.Run(1'000));
  CHECK(fixture.policy.loaded == std::vector<uint64_t>{1, 2, 3});
  CHECK(testing::RowsOf(fixture.sink.blocks) == 3 * RolloutFixture::kChunkRows);
}

}  // namespace
}  // namespace waggle::testing
