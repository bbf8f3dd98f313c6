// The actor without a network: environments alone, as a vector, and in the whole loop with a policy without cost.

#include "tests/bench/actor_bench.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "common/replay/blocks/row_writer.h"
#include "tests/bench/bench.h"

namespace waggle::bench {
namespace {

constexpr int64_t kLanes = 32;
constexpr int64_t kCalls = 10'000;
constexpr double kWantedStepsPerSecond = 10e6;

// Random actions from a table, and constant values.
class FreePolicy : public Policy {
 public:
  FreePolicy() : actions_(1 << 16) {
    Rng rng(9);
    for (int64_t& action : actions_) {
      action = static_cast<int64_t>(rng.UniformInt(2));
    }
  }
  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {"q_taken", "q_max"}; }
  absl::Status Act(const PolicyInput& input, ActMode, PolicyOutput* output) override {
    if (next_ + input.slots.size() > actions_.size()) {
      next_ = 0;
    }
    std::copy_n(actions_.data() + next_, input.rows(), static_cast<int64_t*>(output->actions[0]));
    next_ += input.slots.size();
    return absl::OkStatus();
  }
  absl::Status LoadWeights(const ModelSnapshot&) override { return absl::OkStatus(); }

 private:
  std::vector<int64_t> actions_;
  size_t next_ = 0;
};

std::vector<int64_t> AllLanes() {
  std::vector<int64_t> lanes(kLanes);
  std::iota(lanes.begin(), lanes.end(), 0);
  return lanes;
}

// The steps per second of CartPoles stepped one by one, without a vector or a loop.
double BareStepsPerSecond() {
  std::vector<std::unique_ptr<CartPole>> poles;
  std::vector<float> observations(4 * kLanes);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    poles.push_back(std::make_unique<CartPole>(CartPole::Settings(), lane));
    WAGGLE_CHECK(poles[lane]->Reset({&observations[4 * lane]}).ok(), "CartPole can be reset");
  }
  FreePolicy policy;
  float reward = 0;
  std::vector<int64_t> actions(kLanes);
  const std::vector<int64_t> slots = AllLanes();
  PolicyInput input;
  input.slots = slots;
  PolicyOutput output;
  output.actions = {actions.data()};
  const absl::Time began = absl::Now();
  for (int64_t call = 0; call < kCalls; ++call) {
    WAGGLE_CHECK(policy.Act(input, ActMode::kExplore, &output).ok(), "a free policy acts");
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto outcome = poles[lane]->Step({&actions[lane]}, {&observations[4 * lane]}, &reward);
      if (outcome->terminated || outcome->truncated) {
        WAGGLE_CHECK(poles[lane]->Reset({&observations[4 * lane]}).ok(), "CartPole can be reset");
      }
    }
  }
  return static_cast<double>(kCalls * kLanes) / absl::ToDoubleSeconds(absl::Now() - began);
}

double VectorStepsPerSecond(int64_t lanes) {
  const auto environments = CartPoles(lanes);
  FreePolicy policy;
  std::vector<int64_t> actions(static_cast<size_t>(lanes));
  PolicyInput input;
  PolicyOutput output;
  output.actions = {actions.data()};
  int64_t starts = 0;
  WAGGLE_CHECK(environments->Reset().ok(), "CartPole can be reset");
  absl::StatusOr<ReadyLanes> ready = environments->Recv(lanes, StopToken());
  const absl::Time began = absl::Now();
  for (int64_t call = 0; call < kCalls; ++call) {
    input.slots = ready->lanes;
    WAGGLE_CHECK(policy.Act(input, ActMode::kExplore, &output).ok(), "a free policy acts");
    WAGGLE_CHECK(environments->Send(ready->lanes, output.actions).ok(), "CartPole can be stepped");
    ready = environments->Recv(lanes, StopToken());
    starts += std::accumulate(ready->first, ready->first + lanes, int64_t{0});
  }
  return static_cast<double>(kCalls * lanes - starts) / absl::ToDoubleSeconds(absl::Now() - began);
}

constexpr int64_t kEpisodeRows = 200;
constexpr int64_t kChunkRows = 16;

// The same row of all lanes, repeated, with a CartPole's columns.
struct SameRows {
  std::vector<float> observations = std::vector<float>(4 * kLanes, 0.5F);
  std::vector<int64_t> actions = std::vector<int64_t>(kLanes, 1);
  std::vector<float> rewards = std::vector<float>(kLanes, 1);
  std::vector<float> discounts = std::vector<float>(kLanes, 1);
  std::vector<int32_t> step_types = std::vector<int32_t>(kLanes);

  void Begin(int64_t row) {
    const int64_t of_episode = row % kEpisodeRows;
    const StepType type = of_episode == 0                  ? StepType::kFirst
                          : of_episode == kEpisodeRows - 1 ? StepType::kLast
                                                           : StepType::kMid;
    std::fill(step_types.begin(), step_types.end(), static_cast<int32_t>(type));
  }
};

TablePlan FourRowPlan() {
  TablePlan plan;
  plan.table.name = "transitions";
  plan.table.signature = StreamColumns(CartPole::Spec(), {});
  plan.table.view = {{"reward", kReward, ViewField::Rows::kAll, 1}};
  plan.table.max_items = plan.table.max_bytes = 1 << 30;
  plan.table.max_window = plan.window.length = 4;
  return plan;
}

// Rows per second, with an item over four rows for each row.
double TrajectoryRowsPerSecond() {
  DiscardingWriter sink;
  TrajectoryWriterOptions options;
  options.lanes = kLanes;
  options.environment = CartPole::Spec();
  options.plans = {FourRowPlan()};
  options.chunk_rows = kChunkRows;
  auto writer = TrajectoryWriter::Create(options, &sink);
  WAGGLE_CHECK(writer.ok(), writer.status().message());
  SameRows same;
  const void* const observations = same.observations.data();
  const void* const actions = same.actions.data();
  const float* const rewards = same.rewards.data();
  const std::vector<int64_t> lanes = AllLanes();
  LaneRows rows;
  rows.observations = {&observations, 1};
  rows.actions = {&actions, 1};
  rows.rewards = {&rewards, 1};
  rows.discounts = same.discounts.data();
  rows.step_types = same.step_types.data();
  const absl::Time began = absl::Now();
  for (int64_t row = 0; row < kCalls; ++row) {
    same.Begin(row);
    WAGGLE_CHECK((*writer)->Append(lanes, rows).ok(), "these are episodes");
    if ((*writer)->BlockIsFull()) {
      WAGGLE_CHECK((*writer)->Flush(1, StopToken()).ok(), "there is always room");
    }
  }
  return static_cast<double>(kCalls * kLanes) / absl::ToDoubleSeconds(absl::Now() - began);
}

// Discards all blocks.
class DiscardingConnection : public ReplayConnection {
 public:
  absl::Status CreateTable(const TableConfig&, const StopToken&) override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions&) override {
    return std::make_unique<DiscardingWriter>();
  }
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions&) override {
    return absl::UnimplementedError("nothing is kept");
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string&) override {
    return absl::UnimplementedError("nothing is kept");
  }
};

// The same rows and items, by the client library's writer.
double RowWriterRowsPerSecond() {
  DiscardingConnection connection;
  RowWriterOptions options;
  options.chunk_rows = kChunkRows * kLanes;  // Only blocks of all lanes are sent.
  auto writer = RowWriter::Create(&connection, {FourRowPlan().table}, options);
  WAGGLE_CHECK(writer.ok(), writer.status().message());
  std::vector<RowWriter::Stream*> streams;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    streams.push_back((*writer)->NewStream());
  }
  SameRows same;
  const absl::Time began = absl::Now();
  for (int64_t row = 0; row < kCalls; ++row) {
    same.Begin(row);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      RowWriter::Stream& stream = *streams[lane];
      if (row % kEpisodeRows == 0) {
        stream.BeginEpisode();
      }
      const void* const columns[] = {&same.observations[4 * lane], &same.actions[lane], &same.rewards[lane],
                                     &same.discounts[lane], &same.step_types[lane]};
      WAGGLE_CHECK(stream.Append(columns).ok(), "there is always room");
      if (stream.episode_rows() >= 4) {
        WAGGLE_CHECK(stream.CreateItem("transitions", 4, 1.0).ok(), "the episode has four rows");
      }
    }
    if (row % kChunkRows == kChunkRows - 1) {
      WAGGLE_CHECK((*writer)->Send().ok(), "there is always room");
    }
  }
  return static_cast<double>(kCalls * kLanes) / absl::ToDoubleSeconds(absl::Now() - began);
}

// Ape-X DQN's table: three-step windows, prioritised by their temporal-difference error.
TablePlan ThreeStepPlan() {
  TablePlan plan;
  plan.table.name = "transitions";
  plan.table.signature = StreamColumns(CartPole::Spec(), {});
  plan.table.signature.pop_back();
  plan.table.max_window = 4;
  plan.window.length = 4;
  plan.initial_priority = [](const WindowRow* rows, int64_t count) {
    double target = rows[count - 1].extras[1];
    for (int64_t i = count - 2; i >= 0; --i) {
      target = rows[i].reward + 0.99 * rows[i].discount * target;
    }
    return std::abs(target - rows[0].extras[0]);
  };
  return plan;
}

std::vector<Case> Cases() {
  const auto bare = std::make_shared<double>(0);
  const auto limit = [bare] {
    if (*bare == 0) {
      *bare = BestRate(BareStepsPerSecond, "", 0, "").value;
    }
    return *bare;
  };
  return {
      {"actor/cartpole_vector_32",
       [limit] {
         return BestRate([] { return VectorStepsPerSecond(kLanes); }, "env_steps/s", limit(),
                         "CartPoles stepped one by one");
       }},
      {"environment/cartpole_64_lanes",
       [] {
         return BestRate([] { return VectorStepsPerSecond(64); }, "env_steps/s", kWantedStepsPerSecond,
                         "what is wanted of a thread");
       }},
      {"actor/write_rows_32",
       [] {
         const double by_row_writer = BestRate(RowWriterRowsPerSecond, "", 0, "").value;
         return BestRate(TrajectoryRowsPerSecond, "rows/s", by_row_writer, "the client library's row writer");
       }},
      {"actor/loop_free_policy_32",
       [limit] {
         FreePolicy policy;
         return BestRate([&] { return StepsPerSecond(&policy, ModelSnapshot(), ThreeStepPlan(), kLanes, kCalls); },
                         "env_steps/s", limit(), "CartPoles stepped one by one");
       }},
  };
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::RunCases(argc, argv, waggle::bench::Cases());
}
