#include "actor/recording/episode_recorder.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "actor/acting/random_policy.h"
#include "actor/environments/environment_lanes.h"
#include "actor/environments/local_vector_environment.h"
#include "tests/actor/fakes.h"
#include "tests/actor/recording/recorded_rows.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ColumnOf;
using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::RecordingWriter;
using testing::ValueOf;

LocalVectorEnvironment OneLane(const EnvironmentDefinition& definition, const std::string& name = "CartPole-v1") {
  EnvironmentOptions options;
  options.name = name;
  return LocalVectorEnvironment(ValueOf(MakeEnvironments(definition, options, 1, Rng(5))));
}

TEST_CASE("Episodes are recorded row by row with the results of their actions, and end with the final observation",
          "[unit]") {
  LocalVectorEnvironment environment = OneLane(CountingEnvironment::Definition(9));
  CountingPolicy policy;
  RecordingWriter sink;
  constexpr int64_t kEpisodes = 100;
  const EpisodeOutcomes outcomes =
      ValueOf(RecordEpisodes(kEpisodes, ActMode::kExplore, &environment, &policy, &sink, StopToken()));
  REQUIRE(outcomes.returns.size() == kEpisodes);

  const TablePlan plan = RecordedTable(environment.spec());
  REQUIRE_OK(plan.table.Validate());
  const std::vector<ArraySpec>& signature = plan.table.signature;
  const auto shown = ColumnOf<float>(sink.blocks, signature, "observation");
  const auto actions = ColumnOf<int64_t>(sink.blocks, signature, "action");
  const auto rewards = ColumnOf<float>(sink.blocks, signature, "reward");
  const auto discounts = ColumnOf<float>(sink.blocks, signature, "discount");
  const auto step_types = ColumnOf<int32_t>(sink.blocks, signature, "step_type");
  size_t row = 0;
  bool any_truncated = false;
  for (size_t episode = 0; episode < kEpisodes; ++episode) {
    const auto length = static_cast<size_t>(outcomes.lengths[episode]);
    double sum = 0;
    for (size_t step = 0; step <= length; ++step, ++row) {
      REQUIRE(shown.at(3 * row + 1) == static_cast<float>(episode));
      REQUIRE(shown.at(3 * row + 2) == static_cast<float>(step));
      const bool last = step == length;
      REQUIRE(step_types[row] == static_cast<int32_t>(step == 0 ? StepType::kFirst
                                                      : last    ? StepType::kLast
                                                                : StepType::kMid));
      REQUIRE(actions[row] == (last ? 0 : static_cast<int64_t>(step % 3)));
      REQUIRE(rewards[row] == (last ? 0 : static_cast<float>(10 * step + step % 3)));
      REQUIRE((discounts[row] == 1 || step + 1 >= length));
      any_truncated = any_truncated || (step + 1 == length && discounts[row] == 1);
      sum += static_cast<double>(rewards[row]);
    }
    REQUIRE(sum == outcomes.returns[episode]);
  }
  CHECK(any_truncated);
  CHECK(row == step_types.size());

  size_t items = 0;
  size_t begins = 0;
  for (const InsertBlock& block : sink.blocks) {
    for (const ItemInfo& item : block.items) {
      REQUIRE(item.rows == 2);
      REQUIRE(step_types[item.first_row] != static_cast<int32_t>(StepType::kLast));
      ++items;
    }
    begins += static_cast<size_t>(
        std::count_if(block.chunks.begin(), block.chunks.end(), [](const ChunkInfo& chunk) { return chunk.begins; }));
  }
  CHECK(items == row - kEpisodes);
  CHECK(begins == kEpisodes);
}

TEST_CASE("A greedy recording acts greedily", "[unit]") {
  LocalVectorEnvironment environment = OneLane(CountingEnvironment::Definition(9));
  CountingPolicy policy;
  RecordingWriter sink;
  REQUIRE_OK(RecordEpisodes(3, ActMode::kGreedy, &environment, &policy, &sink, StopToken()).status());
  const auto actions = ColumnOf<int64_t>(sink.blocks, RecordedTable(environment.spec()).table.signature, "action");
  CHECK(std::count(actions.begin(), actions.end(), 0) == static_cast<int64_t>(actions.size()));
}

TEST_CASE("Every built-in environment can be recorded", "[unit]") {
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  for (const std::string& name : definitions.Names()) {
    INFO(name);
    LocalVectorEnvironment environment = OneLane(*ValueOf(definitions.Find(name)), name);
    REQUIRE_OK(RecordedTable(environment.spec()).table.Validate());
    RandomPolicy policy(environment.spec(), 1, Rng(2));
    RecordingWriter sink;
    const EpisodeOutcomes outcomes =
        ValueOf(RecordEpisodes(2, ActMode::kGreedy, &environment, &policy, &sink, StopToken()));
    CHECK(outcomes.lengths.size() == 2);
    CHECK_FALSE(sink.blocks.empty());
  }
}

TEST_CASE("A recording ends with an error of the policy or the writer, or a stop", "[unit]") {
  LocalVectorEnvironment environment = OneLane(CountingEnvironment::Definition(9));
  CountingPolicy policy;
  RecordingWriter sink;
  const StopToken stopped;
  stopped.RequestStop();
  REQUIRE_CODE(RecordEpisodes(3, ActMode::kGreedy, &environment, &policy, &sink, stopped),
               absl::StatusCode::kCancelled);
  sink.on_append = [](const StopToken&) { return absl::ResourceExhaustedError("full"); };
  REQUIRE_CODE(RecordEpisodes(3, ActMode::kGreedy, &environment, &policy, &sink, StopToken()),
               absl::StatusCode::kResourceExhausted);
  policy.act_result = absl::InternalError("no idea");
  REQUIRE_CODE(RecordEpisodes(3, ActMode::kGreedy, &environment, &policy, &sink, StopToken()),
               absl::StatusCode::kInternal);
}

// Reports a broken episode once it was stepped.
class Broken final : public VectorEnvironment {
 public:
  explicit Broken(LocalVectorEnvironment* inside) : inside_(inside) {}

  const EnvironmentSpec& spec() const override { return inside_->spec(); }
  int64_t lanes() const override { return 1; }
  absl::Status Start(absl::Span<const int64_t> lanes) override { return inside_->Start(lanes); }
  absl::Status Reset() override { return inside_->Reset(); }
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override {
    health_.broken_episodes = 1;
    health_.last_error = "the process has ended";
    return inside_->Send(lanes, actions);
  }
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override {
    return inside_->Recv(at_least, stop);
  }
  EnvironmentHealth health() const override { return health_; }

 private:
  LocalVectorEnvironment* const inside_;
  EnvironmentHealth health_;
};

TEST_CASE("A recording fails if the environment breaks off an episode", "[unit]") {
  LocalVectorEnvironment inside = OneLane(CountingEnvironment::Definition(9));
  Broken environment(&inside);
  CountingPolicy policy;
  RecordingWriter sink;
  const auto refused = RecordEpisodes(3, ActMode::kGreedy, &environment, &policy, &sink, StopToken());
  REQUIRE_CODE(refused, absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(refused.status().message()), Catch::Contains("the process has ended"));
}

}  // namespace
}  // namespace waggle
