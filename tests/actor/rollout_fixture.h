#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "actor/acting/rollout_loop.h"
#include "actor/environments/local_vector_environment.h"
#include "tests/actor/fakes.h"
#include "tests/actor/scrambled_environment.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// The ports of a loop; a test may change them before Run().
class RolloutFixture {
 public:
  static constexpr int64_t kLanes = 3;
  static constexpr int64_t kMaxSteps = 6;  // In an episode.
  static constexpr int64_t kChunkRows = 4;

  explicit RolloutFixture(const WindowPlan& window = {WindowPlan::Kind::kNStep, 3})
      : environments(std::make_unique<LocalVectorEnvironment>(Copies())) {
    TablePlan plan;
    plan.table.name = "replay";
    plan.table.signature = StreamColumns(environments->spec(), policy.columns());
    plan.table.max_window = window.length;
    plan.window = window;
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
    options.max_block_age = absl::InfiniteDuration();  // Only full blocks are handed over, even on a slow machine.
  }

  // The same environments in another order: see ScrambledEnvironment.
  ScrambledEnvironment* Scramble(int64_t slow_lane, uint64_t spread) {
    auto scrambled = std::make_unique<ScrambledEnvironment>(Copies(), slow_lane, spread, 7);
    ScrambledEnvironment* const borrowed = scrambled.get();
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
    RolloutLoop loop(options,
                     {&policy, environments.get(), writer_.get(), &sink, has_weights ? &weights : nullptr, &metrics,
                      budget.get(), nullptr, unrolls_per_version, [this] { ++first_steps; }, turns, on_weights});
    const absl::Status status = loop.Run(stop);
    env_steps_ = loop.env_steps();
    return status;
  }

  int64_t env_steps() const { return env_steps_; }  // After Run().

  CountingPolicy policy;
  RecordingWriter sink;
  Metrics metrics;
  const std::shared_ptr<ScriptedSubscriber::Script> script = std::make_shared<ScriptedSubscriber::Script>();
  const StopToken stop;
  std::unique_ptr<StepBudget> budget;
  int64_t first_steps = 0;  // Calls of on_first_step.
  TurnTaker* turns = nullptr;
  bool has_weights = true;  // Else the learner computes the policy.
  std::function<int64_t()> unrolls_per_version;
  std::function<absl::Status(const ModelSnapshot& snapshot)> on_weights;
  RolloutOptions options;
  std::unique_ptr<VectorEnvironment> environments;

 private:
  static std::vector<std::unique_ptr<Environment>> Copies() {
    return ValueOf(MakeEnvironments(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kLanes, Rng(1)));
  }

  int64_t env_steps_ = 0;
  std::unique_ptr<TrajectoryWriter> writer_;
};

inline int64_t RowsOf(const std::vector<InsertBlock>& blocks) {
  int64_t rows = 0;
  for (const InsertBlock& block : blocks) {
    rows += RowsOfLane(block);
  }
  return rows;
}

}  // namespace waggle::testing
