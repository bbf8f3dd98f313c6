#include "actor/rollout_loop.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "actor/local_vector_environment.h"
#include "common/base/thread.h"
#include "tests/actor/fakes.h"
#include "tests/actor/scrambled_environment.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::RecordingWriter;
using testing::ScriptedSubscriber;
using testing::SnapshotOf;
using testing::ValueOf;

constexpr int64_t kLanes = 3;
constexpr int64_t kMaxSteps = 6;
constexpr int64_t kChunkRows = 4;

// Everything around a loop; a test changes what it is about before Run().
class Fixture {
 public:
  Fixture() : environments(std::make_unique<LocalVectorEnvironment>(Copies())) {
    TablePlan plan;
    plan.table.name = "replay";
    plan.table.signature = StreamColumns(environments->spec(), policy.columns());
    plan.table.max_window = 3;
    plan.window.length = 3;
    plan.initial_priority = [](const WindowRow* rows, int64_t count) {
      return 100 * rows[0].extras[1] + rows[0].reward + static_cast<float>(count) / 10;
    };
    TrajectoryWriterOptions writer_options;
    writer_options.lanes = kLanes;
    writer_options.environment = environments->spec();
    writer_options.policy_columns = policy.columns();
    writer_options.private_columns = 2;
    writer_options.plans = {plan};
    writer_options.chunk_rows = kChunkRows;
    writer_ = ValueOf(TrajectoryWriter::Create(writer_options, &sink));
    options.max_block_age = absl::InfiniteDuration();  // However slow the machine is, only a full block is handed over.
  }

  static std::vector<std::unique_ptr<Environment>> Copies() {
    return ValueOf(MakeEnvironments(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kLanes, Rng(1)));
  }

  // The same environments, with an order of their own. See ScrambledEnvironment.
  testing::ScrambledEnvironment* Scramble(int64_t slow_lane, uint64_t spread) {
    auto scrambled = std::make_unique<testing::ScrambledEnvironment>(Copies(), slow_lane, spread, 7);
    testing::ScrambledEnvironment* const borrowed = scrambled.get();
    environments = std::move(scrambled);
    return borrowed;
  }

  // Runs until the policy has acted `acts` times.
  absl::Status Run(int64_t acts) {
    policy.on_act = [this, acts, before = policy.on_act](int64_t calls) {
      if (before) {
        before(calls);
      }
      if (calls + 1 == acts) {
        stop.RequestStop();
      }
    };
    WeightRefresher weights(absl::Milliseconds(1), Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
                            std::make_unique<ScriptedSubscriber>(script), stop);
    RolloutLoop loop(options, {&policy, environments.get(), writer_.get(), &sink, &weights, &metrics, budget.get()});
    const absl::Status status = loop.Run(stop);
    env_steps_ = loop.env_steps();
    return status;
  }

  int64_t env_steps() const { return env_steps_; }  // Once it has run.

  CountingPolicy policy;
  RecordingWriter sink;
  Metrics metrics;
  const std::shared_ptr<ScriptedSubscriber::Script> script = std::make_shared<ScriptedSubscriber::Script>();
  const StopToken stop;
  std::unique_ptr<StepBudget> budget;
  RolloutOptions options;
  std::unique_ptr<VectorEnvironment> environments;

 private:
  int64_t env_steps_ = 0;
  std::unique_ptr<TrajectoryWriter> writer_;
};

int64_t RowsOf(const std::vector<InsertBlock>& blocks) {
  int64_t rows = 0;
  for (const InsertBlock& block : blocks) {
    rows += testing::RowsOfLane(block);
  }
  return rows;
}

TEST_CASE("the loop writes every row it acted on, the last ones included, and stops in peace", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(7));
  REQUIRE_OK(fixture.Run(30));
  REQUIRE(RowsOf(fixture.sink.blocks) == 30);
  REQUIRE(fixture.sink.blocks.size() == 8);
  REQUIRE(testing::RowsOfLane(fixture.sink.blocks.back()) == 2);
  for (const InsertBlock& block : fixture.sink.blocks) {
    REQUIRE(block.policy_version == 7);
  }
  REQUIRE(fixture.policy.loaded == std::vector<uint64_t>{7});
}

TEST_CASE("observations, actions, rewards and the policy's columns of a row belong together", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(1));
  REQUIRE_OK(fixture.Run(200));
  int64_t last_rows = 0;
  for (const InsertBlock& block : fixture.sink.blocks) {
    const char* at = block.data.slices().at(0).data;
    const size_t rows = static_cast<size_t>(kLanes * testing::RowsOfLane(block));
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

// What blocks hold of a lane: its rows, each as all its columns' bytes, and its items' first rows, lengths and
// priorities.
struct Stream {
  std::vector<std::string> rows;
  std::vector<std::tuple<uint64_t, uint32_t, double>> items;
};

std::vector<Stream> StreamsOf(const std::vector<InsertBlock>& blocks, const std::vector<ArraySpec>& signature) {
  std::vector<Stream> streams(kLanes);
  for (const InsertBlock& block : blocks) {
    const char* at = block.data.slices().at(0).data;
    for (const ArraySpec& column : signature) {
      const auto row_bytes = static_cast<size_t>(column.NumBytes());
      for (const ChunkInfo& chunk : block.chunks) {
        std::vector<std::string>& rows = streams[chunk.stream].rows;
        for (uint64_t row = chunk.first_row; row < chunk.first_row + chunk.rows; ++row, at += row_bytes) {
          rows.resize(std::max<size_t>(rows.size(), row + 1));
          rows[row].append(at, row_bytes);
        }
      }
    }
    for (const ItemInfo& item : block.items) {
      streams[item.stream].items.emplace_back(item.first_row, item.rows, item.priority);
    }
  }
  return streams;
}

TEST_CASE("lanes that answer in any order, one of them ten times slower, have the streams of lanes in step", "[unit]") {
  Fixture in_step;
  in_step.script->Add(SnapshotOf(1));
  REQUIRE_OK(in_step.Run(600));
  const std::vector<ArraySpec> signature = StreamColumns(in_step.environments->spec(), in_step.policy.columns());
  size_t row_bytes = 0;
  for (const ArraySpec& column : signature) {
    row_bytes += static_cast<size_t>(column.NumBytes());
  }
  const std::vector<Stream> expected = StreamsOf(in_step.sink.blocks, signature);
  // Slow lane, spread of the others' times, lanes to wait for.
  const std::vector<std::tuple<int64_t, uint64_t, int64_t>> cases = {{1, 3, 1}, {0, 1, 2}, {-1, 2, 1}, {-1, 1, 99}};
  for (const auto& [slow_lane, spread, min_ready_lanes] : cases) {
    INFO("slow: " << slow_lane << ", spread: " << spread << ", waits for " << min_ready_lanes);
    Fixture fixture;
    fixture.options.min_ready_lanes = min_ready_lanes;
    testing::ScrambledEnvironment* const scrambled = fixture.Scramble(slow_lane, spread);
    fixture.script->Add(SnapshotOf(1));
    REQUIRE_OK(fixture.Run(600));
    const std::vector<Stream> streams = StreamsOf(fixture.sink.blocks, signature);
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
      REQUIRE(items == decltype(Stream::items)(expected[lane].items.begin(),
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

TEST_CASE("a stop while no lane is ready ends the loop in peace, and what there is is written", "[unit]") {
  Fixture fixture;
  testing::ScrambledEnvironment* const scrambled = fixture.Scramble(-1, 1);
  fixture.script->Add(SnapshotOf(1));
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
  Fixture fixture;
  fixture.script->Add(SnapshotOf(1));
  fixture.policy.on_act = [&fixture](int64_t calls) {
    if (calls == 1) {
      fixture.script->Add(SnapshotOf(5));
    }
    // Within a block of the new weights, so that the loop cannot end before they are there.
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
    REQUIRE(testing::RowsOfLane(fixture.sink.blocks[i]) == kChunkRows);
  }
}

TEST_CASE("the loop goes on with old weights while the server is away", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(1));
  for (int i = 0; i < 1000; ++i) {
    fixture.script->Add(absl::UnavailableError("connection refused"));
  }
  REQUIRE_OK(fixture.Run(100));
  REQUIRE(RowsOf(fixture.sink.blocks) == 100);
}

TEST_CASE("a block that gathers for too long is handed over before it is full", "[unit]") {
  Fixture fixture;
  fixture.options.max_block_age = absl::ZeroDuration();
  fixture.script->Add(SnapshotOf(1));
  REQUIRE_OK(fixture.Run(5));
  REQUIRE(fixture.sink.blocks.size() == 5);
}

TEST_CASE("the metrics say what was done", "[unit]") {
  Fixture fixture;
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
  // Episodes of 1 to 6 steps, rewards 0, 11, 22, 30, 41, 52.
  REQUIRE(metrics.gauges["return_mean"] > 30);
  REQUIRE(metrics.gauges["return_mean"] < 100);
  REQUIRE(metrics.gauges["first_env_step_unix_seconds"] >= absl::ToDoubleSeconds(before - absl::UnixEpoch()));
  REQUIRE(metrics.activity == "stopped");
}

TEST_CASE("while the loop waits for room it says so", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(1));
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

TEST_CASE("the loop takes the steps that it is allowed, hands their rows over and waits for more", "[unit]") {
  Fixture fixture;
  fixture.script->Add(SnapshotOf(1));
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

TEST_CASE("a stop while waiting for the first weights ends the loop in peace", "[unit]") {
  Fixture fixture;
  fixture.stop.RequestStop();
  REQUIRE_OK(fixture.Run(-1));
  REQUIRE(fixture.sink.blocks.empty());
}

TEST_CASE("a stop while the writer waits for room ends the loop in peace", "[unit]") {
  Fixture fixture;
  fixture.options.drain_timeout = absl::Milliseconds(1);
  fixture.script->Add(SnapshotOf(1));
  Thread stopper;
  fixture.sink.on_append = [&](const StopToken& stop) {
    stopper = Thread("stopper", [&fixture] { fixture.stop.RequestStop(); });
    stop.Wait();
    return absl::CancelledError("stopped while waiting for room");
  };
  REQUIRE_OK(fixture.Run(-1));
}

TEST_CASE("rows that find no room after a stop are given up after a while", "[unit]") {
  Fixture fixture;
  fixture.options.drain_timeout = absl::Milliseconds(1);
  fixture.script->Add(SnapshotOf(1));
  fixture.sink.on_append = [](const StopToken& stop) {
    stop.Wait();
    return absl::CancelledError("stopped while waiting for room");
  };
  REQUIRE_OK(fixture.Run(2));
}

TEST_CASE("errors of the policy, the writer, the environment and the weights are final", "[unit]") {
  SECTION("the policy cannot act") {
    Fixture fixture;
    fixture.script->Add(SnapshotOf(1));
    fixture.policy.act_result = absl::InternalError("out of memory");
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kInternal);
  }
  SECTION("the writer refuses a block") {
    Fixture fixture;
    fixture.script->Add(SnapshotOf(1));
    fixture.sink.on_append = [](const StopToken&) { return absl::InvalidArgumentError("observation is nan"); };
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kInvalidArgument);
  }
  SECTION("the weights are of another network") {
    Fixture fixture;
    fixture.script->Add(SnapshotOf(1));
    fixture.policy.load_result = absl::FailedPreconditionError("another network");
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kFailedPrecondition);
    REQUIRE(fixture.policy.calls == 0);
  }
  SECTION("the hub refuses steps") {
    Fixture fixture;
    fixture.script->Add(SnapshotOf(1));
    fixture.budget = std::make_unique<StepBudget>(
        1, Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
        [](const StepRequest&, const StopToken&) { return absl::FailedPreconditionError("no limit"); }, fixture.stop);
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kFailedPrecondition);
    REQUIRE(fixture.policy.calls == 0);
  }
  SECTION("weights cannot be had") {
    Fixture fixture;
    fixture.script->Add(SnapshotOf(1));
    fixture.script->Add(absl::PermissionDeniedError("no"));
    REQUIRE_CODE(fixture.Run(-1), absl::StatusCode::kPermissionDenied);
  }
}

}  // namespace
}  // namespace waggle
