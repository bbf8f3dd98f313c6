// An environment of many leaves: what is written of each comes out of replay as it went in.

#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "actor/environments/local_vector_environment.h"
#include "actor/writing/trajectory_writer.h"
#include "tests/support/catch.h"
#include "tests/support/local/local_replay.h"
#include "tests/support/many_leaves.h"

namespace waggle {
namespace {

using testing::ManyLeaves;
using testing::ValueOf;

constexpr int64_t kLanes = 4;
constexpr int64_t kWindow = 3;
constexpr int64_t kBatch = 8;
constexpr int64_t kSteps = 200;

// What is chosen for a place, as plain formulas: legal moves, and turns some of which are to be clamped.
int64_t FirstMove(int64_t step) {
  return step % 7 == step % 3 ? (step + 1) % 3 : step % 3;
}
int64_t SecondMove(int64_t step) {
  return step % 7 == 3 + step % 4 ? (step + 1) % 4 : step % 4;
}
float Turn(int64_t step) {
  return static_cast<float>(step % 5 - 2) * 0.75F;
}
// What the environment gets of it.
float ScaledTurn(int64_t step) {
  return step % 5 == 0 ? -2.0F : step % 5 == 4 ? 6.0F : 2 + 4 * Turn(step);
}
float MoveReward(int64_t step) {
  return static_cast<float>(10 * step + FirstMove(step) + 100 * SecondMove(step));
}

TablePlan EveryColumn() {
  TablePlan plan;
  TableConfig& table = plan.table;
  table.name = "leaves";
  table.signature = StreamColumns(ManyLeaves(0).spec(), {});
  for (const ArraySpec& column : table.signature) {
    table.view.push_back({column.name, column.name, ViewField::Rows::kAll});
  }
  table.sampler.kind = SelectorKind::kFifo;
  table.max_items = 10'000;
  table.max_bytes = 1 << 30;
  table.max_times_sampled = 1;
  table.max_window = kWindow;
  plan.window.length = kWindow;
  plan.initial_priority = [](const WindowRow* rows, int64_t) { return 1e6 + static_cast<double>(rows[0].reward); };
  return plan;
}

// Chooses by the observations' place, which every lane shows in its second leaf.
struct Actions {
  explicit Actions(const ReadyLanes& present) {
    const auto* const place = static_cast<const float*>(present.observations[1]);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto step = static_cast<int64_t>(place[2 * lane + 1]);
      moves[2 * lane] = FirstMove(step);
      moves[2 * lane + 1] = SecondMove(step);
      turns[lane] = Turn(step);
    }
  }
  int64_t moves[2 * kLanes] = {};
  float turns[kLanes] = {};
};

// Every step goes to `sink`. Returns how many items there are.
int64_t Write(const TablePlan& plan, ReplayWriter* sink) {
  LocalVectorEnvironment environments(
      ValueOf(MakeEnvironments(ManyLeaves::Definition(), EnvironmentOptions(), kLanes, Rng(4))));
  TrajectoryWriterOptions options;
  options.lanes = kLanes;
  options.environment = environments.spec();
  options.plans = {plan};
  options.chunk_rows = 7;
  const auto writer = ValueOf(TrajectoryWriter::Create(options, sink));
  REQUIRE_OK(environments.Reset());
  ReadyLanes present = ValueOf(environments.Recv(kLanes, StopToken()));
  int64_t episodes = 0;
  for (int64_t t = 0; t < kSteps; ++t) {
    const Actions chosen(present);
    const std::vector<const void*> actions = {chosen.moves, chosen.turns};
    LaneRows rows;
    rows.observations = present.observations;
    rows.actions = actions;
    rows.step_types = present.step_types;
    REQUIRE_OK(environments.Send(present.lanes, actions));
    present = ValueOf(environments.Recv(kLanes, StopToken()));
    rows.rewards = present.rewards;
    rows.discounts = present.discounts;
    REQUIRE_OK(writer->Append(present.lanes, rows));
    if (writer->BlockIsFull()) {
      REQUIRE_OK(writer->Flush(1, StopToken()));
    }
    episodes += std::accumulate(present.first, present.first + kLanes, int64_t{0});
  }
  REQUIRE(episodes > 50);
  REQUIRE_OK(writer->Flush(1, StopToken()));
  REQUIRE_OK(sink->Flush(absl::Seconds(10)));
  return writer->items_written();
}

template <class T>
const T* Field(const SampledBatch& batch, const char* name, int64_t row, int64_t elements) {
  const void* const data = batch.Data(name);
  REQUIRE(data != nullptr);
  return static_cast<const T*>(data) + row * elements;
}

// A row of a batch against the environment's formulas. `row` counts those of all items.
void CheckRow(const SampledBatch& batch, int64_t row, int64_t step, bool last) {
  CAPTURE(row, step, last);
  const float* const place = Field<float>(batch, "observation/place", row, 2);
  const auto seed = static_cast<int64_t>(place[0]);
  REQUIRE(place[1] == static_cast<float>(step));
  for (int64_t i = 0; i < 6; ++i) {
    REQUIRE(Field<uint8_t>(batch, "observation/camera", row, 6)[i] == (6 * step + i + seed) % 256);
  }
  for (int64_t i = 0; i < 7; ++i) {
    REQUIRE(Field<bool>(batch, "action_mask/move", row, 7)[i] == (i != step % 7));
  }
  const float* const reward = Field<float>(batch, "reward", row, 2);
  if (last) {
    REQUIRE(reward[0] == 0);
    REQUIRE(reward[1] == 0);
    return;
  }
  REQUIRE(Field<int64_t>(batch, "action/move", row, 2)[0] == FirstMove(step));
  REQUIRE(Field<int64_t>(batch, "action/move", row, 2)[1] == SecondMove(step));
  REQUIRE(Field<float>(batch, "action/turn", row, 1)[0] == Turn(step));  // As it was chosen.
  REQUIRE(reward[0] == MoveReward(step));
  REQUIRE(reward[1] == ScaledTurn(step));  // As the environment got it.
}

TEST_CASE("every leaf's rows are sampled as they were stepped", "[unit]") {
  const TablePlan plan = EveryColumn();
  CHECK(DebugString(plan.table.signature) ==
        "[observation/camera: uint8[2, 3], observation/place: float32[2], action_mask/move: bool[7], action/move: "
        "int64[2], action/turn: float32[1], reward: float32[2], discount: float32[], step_type: int32[]]");
  LocalReplayConnection replay(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  REQUIRE_OK(replay.CreateTable(plan.table, StopToken()));
  ReplayWriterOptions writer_options;
  writer_options.writer_id = "actor";
  writer_options.tables = {plan.table.name};
  writer_options.signature = plan.table.signature;
  const auto sink = ValueOf(replay.NewWriter(writer_options));
  const int64_t items = Write(plan, sink.get());

  ReplaySamplerOptions sampler_options;
  sampler_options.table = plan.table;
  sampler_options.batch_size = kBatch;
  const auto sampler = ValueOf(replay.NewSampler(sampler_options));
  std::map<int64_t, int> first_steps;
  for (int64_t sampled = 0; sampled + kBatch <= items; sampled += kBatch) {
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    for (int64_t item = 0; item < kBatch; ++item) {
      const int64_t first = kWindow * item;
      const auto step = static_cast<int64_t>(Field<float>(batch, "observation/place", first, 2)[1]);
      const int64_t length = Field<int64_t>(batch, kItemLength, item, 1)[0];
      REQUIRE(length >= 2);
      for (int64_t k = 0; k < length; ++k) {
        const int32_t type = *Field<int32_t>(batch, kStepType, first + k, 1);
        REQUIRE((type == static_cast<int32_t>(StepType::kFirst)) == (step + k == 0));
        CheckRow(batch, first + k, step + k, type == static_cast<int32_t>(StepType::kLast));
      }
      REQUIRE(*Field<double>(batch, kItemPriority, item, 1) ==
              1e6 + static_cast<double>(MoveReward(step) + ScaledTurn(step)));
      ++first_steps[step];
    }
  }
  REQUIRE(first_steps.size() == 9);  // Of every step that an episode can have.
}

}  // namespace
}  // namespace waggle
