// What an actor writes comes out of replay as it went in.

#include <functional>
#include <map>
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
  table.max_items = 1'000;  // So that many are removed while the actor writes.
  table.max_bytes = 1 << 30;
  table.max_window = kWindow;
  plan.window.length = kWindow;
  plan.initial_priority = [](const WindowRow* rows, int64_t count) {
    return 1 + static_cast<double>(rows[0].extras[0]) + 1000.0 * static_cast<double>(count);
  };
  return plan;
}

void Act(const TablePlan& plan, CountingPolicy* policy, ReplayWriter* sink, int64_t max_steps = 9) {
  LocalVectorEnvironment environments(
      ValueOf(MakeEnvironments(CountingEnvironment::Definition(max_steps), EnvironmentOptions(), kLanes, Rng(4))));
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

// An item against what the environment and the policy count. Returns its length.
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

TEST_CASE("every item sampled from replay is a window of one episode, with its own facts and priority", "[unit]") {
  CountingPolicy policy;
  const TablePlan plan = ThreeStepPlan(CountingEnvironment(9, 0).spec(), policy);
  LocalReplayConnection replay(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  REQUIRE_OK(replay.CreateTable(plan.table, StopToken()));
  ReplayWriterOptions writer_options;
  writer_options.writer_id = "actor";
  writer_options.tables = {plan.table.name};
  writer_options.signature = plan.table.signature;
  const auto sink = ValueOf(replay.NewWriter(writer_options));
  Act(plan, &policy, sink.get());

  ReplaySamplerOptions sampler_options;
  sampler_options.table = plan.table;
  sampler_options.batch_size = kBatch;
  const auto sampler = ValueOf(replay.NewSampler(sampler_options));
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

// A table that gives each item once, whole, oldest first.
TablePlan WholePlan(const EnvironmentSpec& environment, const Policy& policy, const WindowPlan& window) {
  TablePlan plan;
  TableConfig& table = plan.table;
  table.name = "sequences";
  table.signature = StreamColumns(environment, policy.columns());
  for (const char* const column : {kObservation, kReward, kDiscount, kStepType}) {
    table.view.push_back({column, column, ViewField::Rows::kAll});
  }
  table.sampler.kind = SelectorKind::kFifo;
  table.max_items = 100'000;
  table.max_bytes = 1 << 30;
  table.max_times_sampled = 1;
  table.max_window = window.length;
  plan.window = window;
  return plan;
}

// Which steps of which episode an item has.
struct Sequence {
  std::pair<int64_t, int64_t> episode;  // The environment's seed, and its number there.
  int64_t first = 0;
  int64_t rows = 0;
  bool ended = false;
};

// Every row of a batch of one item against what the environment counts.
Sequence CheckSequence(const SampledBatch& batch, int64_t max_window) {
  const float* const observations = Field<float>(batch, kObservation);
  const float* const rewards = Field<float>(batch, kReward);
  const float* const discounts = Field<float>(batch, kDiscount);
  const int32_t* const step_types = Field<int32_t>(batch, kStepType);
  Sequence sequence;
  sequence.episode = {static_cast<int64_t>(observations[0]), static_cast<int64_t>(observations[1])};
  sequence.first = static_cast<int64_t>(observations[2]);
  sequence.rows = Field<int64_t>(batch, kItemLength)[0];
  REQUIRE(sequence.rows >= 2);
  REQUIRE(sequence.rows <= max_window);
  sequence.ended = step_types[sequence.rows - 1] == static_cast<int32_t>(StepType::kLast);
  for (int64_t k = 0; k < sequence.rows; ++k) {
    const int64_t step = sequence.first + k;
    REQUIRE(observations[3 * k] == observations[0]);
    REQUIRE(observations[3 * k + 1] == observations[1]);
    REQUIRE(observations[3 * k + 2] == static_cast<float>(step));
    REQUIRE((step_types[k] == static_cast<int32_t>(StepType::kFirst)) == (step == 0));
    if (k + 1 < sequence.rows) {
      REQUIRE(step_types[k] != static_cast<int32_t>(StepType::kLast));
      REQUIRE(rewards[k] == static_cast<float>(10 * step + step % 3));
      const bool terminates = sequence.ended && sequence.episode.second % 3 != 2 && k + 2 == sequence.rows;
      REQUIRE(discounts[k] == (terminates ? 0.0F : 1.0F));
    }
  }
  for (int64_t k = sequence.rows; k < max_window; ++k) {  // What is padded.
    REQUIRE(observations[3 * k] == 0);
    REQUIRE(rewards[k] == 0);
    REQUIRE(step_types[k] == 0);
  }
  return sequence;
}

// Checks each of the items that an actor has written as this plan says, a batch of one item at a time.
void WriteAndSample(const WindowPlan& window, int64_t max_steps,
                    const std::function<void(const SampledBatch& batch)>& check) {
  CountingPolicy policy;
  const TablePlan plan = WholePlan(CountingEnvironment(max_steps, 0).spec(), policy, window);
  LocalReplayConnection replay(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  REQUIRE_OK(replay.CreateTable(plan.table, StopToken()));
  ReplayWriterOptions writer_options;
  writer_options.writer_id = "actor";
  writer_options.tables = {plan.table.name};
  writer_options.signature = plan.table.signature;
  const auto sink = ValueOf(replay.NewWriter(writer_options));
  Act(plan, &policy, sink.get(), max_steps);
  ReplaySamplerOptions sampler_options;
  sampler_options.table = plan.table;
  sampler_options.batch_size = 1;
  const auto sampler = ValueOf(replay.NewSampler(sampler_options));
  for (uint64_t i = 0; i < sink->stats().items_inserted; ++i) {
    check(ValueOf(sampler->Next(StopToken())));
  }
}

std::vector<Sequence> SequencesOf(const WindowPlan& window, int64_t max_steps) {
  std::vector<Sequence> sequences;
  WriteAndSample(window, max_steps,
                 [&](const SampledBatch& batch) { sequences.push_back(CheckSequence(batch, window.length)); });
  return sequences;
}

TEST_CASE("sequences with burn-in overlap so that each step is learned from once", "[unit]") {
  constexpr int64_t kBurnIn = 2;
  WindowPlan window;
  window.kind = WindowPlan::Kind::kSequence;
  window.length = 8;
  window.period = window.length - 1 - kBurnIn;
  std::map<std::pair<int64_t, int64_t>, std::map<int64_t, int>> learned;  // By episode and step, how often.
  std::map<std::pair<int64_t, int64_t>, int64_t> steps;                   // Of episodes that have ended.
  for (const Sequence& sequence : SequencesOf(window, 30)) {
    REQUIRE(sequence.first % window.period == 0);
    REQUIRE((sequence.rows == window.length || sequence.ended));
    for (int64_t k = sequence.first == 0 ? 0 : kBurnIn; k + 1 < sequence.rows; ++k) {
      ++learned[sequence.episode][sequence.first + k];
    }
    if (sequence.ended) {
      steps[sequence.episode] = sequence.first + sequence.rows - 1;
    }
  }
  REQUIRE(steps.size() > 100);
  for (const auto& [episode, count] : steps) {
    CAPTURE(episode.first, episode.second, count);
    REQUIRE(learned[episode].size() == static_cast<size_t>(count));
    for (const auto& [step, times] : learned[episode]) {
      CAPTURE(step);
      REQUIRE(times == 1);
    }
  }
}

TEST_CASE("an episode that is an item comes back whole, each once", "[unit]") {
  WindowPlan window;
  window.kind = WindowPlan::Kind::kEpisode;
  window.length = 31;               // The most rows that one of thirty steps has.
  std::map<int64_t, int64_t> next;  // By the environment's seed, the episode.
  std::set<int64_t> lengths;
  for (const Sequence& sequence : SequencesOf(window, 30)) {
    REQUIRE(sequence.first == 0);
    REQUIRE(sequence.ended);
    REQUIRE(sequence.episode.second == next[sequence.episode.first]++);
    lengths.insert(sequence.rows);
  }
  REQUIRE(next.size() == kLanes);
  REQUIRE(lengths.size() > 20);
}

TEST_CASE("unrolls come back whole and in order, whatever episodes end and begin in them", "[unit]") {
  for (const int64_t period : {7, 8}) {  // With a row of the unroll before, and without.
    const WindowPlan window{WindowPlan::Kind::kUnroll, 8, period};
    std::map<int64_t, std::pair<int64_t, int64_t>> next;  // By the environment's seed: the next row's episode and step.
    int64_t ends = 0;
    WriteAndSample(window, 9, [&](const SampledBatch& batch) {
      const float* const observations = Field<float>(batch, kObservation);
      const int32_t* const step_types = Field<int32_t>(batch, kStepType);
      REQUIRE(Field<int64_t>(batch, kItemLength)[0] == window.length);
      for (int64_t k = 0; k < window.length; ++k) {
        const std::pair<int64_t, int64_t> at = {static_cast<int64_t>(observations[3 * k + 1]),
                                                static_cast<int64_t>(observations[3 * k + 2])};
        std::pair<int64_t, int64_t>& expected = next[static_cast<int64_t>(observations[3 * k])];
        REQUIRE(at == expected);
        const bool ended = step_types[k] == static_cast<int32_t>(StepType::kLast);
        REQUIRE((step_types[k] == static_cast<int32_t>(StepType::kFirst)) == (at.second == 0));
        REQUIRE(Field<float>(batch, kReward)[k] == (ended ? 0 : static_cast<float>(10 * at.second + at.second % 3)));
        if (k < period) {
          expected = ended ? std::make_pair(at.first + 1, int64_t{0}) : std::make_pair(at.first, at.second + 1);
          ends += ended ? 1 : 0;
        }
      }
    });
    REQUIRE(next.size() == kLanes);
    REQUIRE(ends > 100);
  }
}

}  // namespace
}  // namespace waggle
