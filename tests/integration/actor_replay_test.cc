// The items of an actor are sampled as they were written.

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actor/acting/rollout_loop.h"
#include "actor/environments/local_vector_environment.h"
#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/local/local_replay.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::ScriptedSubscriber;
using testing::SnapshotOf;
using testing::ValueOf;

constexpr int64_t kLanes = 6;
constexpr int64_t kWindow = 4;
constexpr int64_t kBatch = 64;

TablePlan ThreeStepPlan(const EnvironmentSpec& environment, const Policy& policy) {
  TablePlan plan;
  TableConfig& table = plan.table;
  table.name = "transitions";
  table.signature = StreamColumns(environment, policy.columns());
  table.view = {{"observation", kObservation, ViewField::Rows::kFirst},
                {"action", kAction, ViewField::Rows::kFirst},
                {"reward", kReward, ViewField::Rows::kAll},
                {"discount", kDiscount, ViewField::Rows::kAll},
                {"next_observation", kObservation, ViewField::Rows::kLast},
                {"next_step_type", kStepType, ViewField::Rows::kLast},
                {"trace", "trace", ViewField::Rows::kFirst}};
  table.sampler.kind = SelectorKind::kPrioritized;
  table.max_items = 1'000;  // Many are removed while the actor writes.
  table.max_bytes = 1 << 30;
  table.max_window = kWindow;
  plan.window.length = kWindow;
  plan.initial_priority = [](const WindowRow* rows, int64_t count) {
    return 1 + static_cast<double>(rows[0].extras[0]) + 1000.0 * static_cast<double>(count);
  };
  return plan;
}

void Act(const TablePlan& plan, CountingPolicy* policy, ReplayWriter* sink) {
  LocalVectorEnvironment environments(
      ValueOf(MakeEnvironments(CountingEnvironment::Definition(9), EnvironmentOptions(), kLanes, Rng(4))));
  TrajectoryWriterOptions options;
  options.lanes = kLanes;
  options.environment = environments.spec();
  options.policy_columns = policy->columns();
  options.private_columns = 2;
  options.plans = {plan};
  options.chunk_rows = 7;
  const auto writer = ValueOf(TrajectoryWriter::Create(options, sink));
  const StopToken stop;
  policy->on_act = [&stop](int64_t calls) {
    if (calls == 600) {
      stop.RequestStop();
    }
  };
  const auto script = std::make_shared<ScriptedSubscriber::Script>();
  script->Add(SnapshotOf(42));
  WeightRefresher weights(absl::Milliseconds(1), Backoff(absl::Milliseconds(1), absl::Milliseconds(1), Rng(1)),
                          std::make_unique<ScriptedSubscriber>(script), stop);
  Metrics metrics;
  RolloutLoop loop(RolloutOptions(), {policy, &environments, writer.get(), sink, &weights, &metrics});
  REQUIRE_OK(loop.Run(stop));
  REQUIRE_OK(sink->Flush(absl::Seconds(10)));
  REQUIRE(sink->stats().items_inserted == static_cast<uint64_t>(writer->items_written()));
  REQUIRE(sink->stats().items_without_rows == 0);
}

template <class T>
const T* Field(const SampledBatch& batch, const char* name) {
  const void* data = batch.Data(name);
  REQUIRE(data != nullptr);
  return static_cast<const T*>(data);
}

// Checks an item against the counts of the environment and the policy. Returns its length.
int64_t CheckItem(const SampledBatch& batch, int64_t i) {
  const float* first = Field<float>(batch, "observation") + 3 * i;
  const float* last = Field<float>(batch, "next_observation") + 3 * i;
  const float* rewards = Field<float>(batch, "reward") + kWindow * i;
  const float* discounts = Field<float>(batch, "discount") + kWindow * i;
  const bool ended = Field<int32_t>(batch, "next_step_type")[i] == static_cast<int32_t>(StepType::kLast);
  const int64_t length = Field<int64_t>(batch, kItemLength)[i];
  const int64_t step = static_cast<int64_t>(first[2]);
  const bool truncates = static_cast<int64_t>(first[1]) % 3 == 2;
  REQUIRE(length >= 2);
  REQUIRE(length <= kWindow);
  REQUIRE((length == kWindow || ended));
  REQUIRE(last[0] == first[0]);
  REQUIRE(last[1] == first[1]);
  REQUIRE(static_cast<int64_t>(last[2]) == step + length - 1);
  REQUIRE(Field<int64_t>(batch, "action")[i] == step % 3);
  REQUIRE(Field<float>(batch, "trace")[2 * i + 1] == first[2]);
  for (int64_t k = 0; k + 1 < length; ++k) {
    REQUIRE(rewards[k] == static_cast<float>(10 * (step + k) + (step + k) % 3));
    const bool terminates = ended && !truncates && k + 2 == length;
    REQUIRE(discounts[k] == (terminates ? 0.0F : 1.0F));
  }
  for (int64_t k = length; k < kWindow; ++k) {
    REQUIRE(rewards[k] == 0);
  }
  REQUIRE(Field<int64_t>(batch, kItemPolicyVersion)[i] == 42);
  REQUIRE(Field<double>(batch, kItemPriority)[i] ==
          1 + static_cast<double>(step) + 1000.0 * static_cast<double>(length));
  return length;
}

TEST_CASE("every sampled item is a window of one episode, with its own facts and priority", "[unit]") {
  CountingPolicy policy;
  const TablePlan plan = ThreeStepPlan(CountingEnvironment(9, 0).spec(), policy);
  LocalReplayConnection replay(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  REQUIRE_OK(replay.CreateTable(plan.table, StopToken()));
  const auto sink = ValueOf(replay.NewWriter(testing::SimpleWriter("actor", plan.table)));
  Act(plan, &policy, sink.get());
  const auto sampler = ValueOf(replay.NewSampler(testing::SimpleSampler(plan.table, kBatch)));
  std::set<int64_t> lengths;
  for (int round = 0; round < 50; ++round) {
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    REQUIRE(batch.table_items == 1'000);
    for (int64_t i = 0; i < kBatch; ++i) {
      lengths.insert(CheckItem(batch, i));
    }
  }
  REQUIRE(lengths == std::set<int64_t>{2, 3, 4});
}

}  // namespace
}  // namespace waggle
