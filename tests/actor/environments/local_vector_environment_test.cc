#include "actor/environments/local_vector_environment.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::ResetOneLeaf;
using testing::StepOneLeaf;
using testing::ValueOf;

constexpr int64_t kLanes = 5;
constexpr int64_t kMaxSteps = 7;

LocalVectorEnvironment MakeVector(uint64_t seed) {
  return LocalVectorEnvironment(
      ValueOf(MakeEnvironments(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kLanes, Rng(seed))));
}

// One of a vector's copies, stepped alone.
struct Alone {
  std::unique_ptr<Environment> environment;
  float observation[3] = {};
  StepType type = StepType::kFirst;
  float reward = 0;
  float discount = 0;

  // Takes an action as a vector's lane does.
  void Act(int64_t action) {
    if (type == StepType::kLast) {
      REQUIRE_OK(ResetOneLeaf(environment.get(), observation));
      type = StepType::kFirst;
      reward = discount = 0;
      return;
    }
    const auto outcome = ValueOf(StepOneLeaf(environment.get(), &action, observation));
    type = outcome.terminated || outcome.truncated ? StepType::kLast : StepType::kMid;
    reward = outcome.reward;
    discount = outcome.terminated ? 0 : 1;
  }
};

std::vector<Alone> MakeAlone(uint64_t seed) {
  std::vector<Alone> alone(kLanes);
  auto copies =
      ValueOf(MakeEnvironments(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kLanes, Rng(seed)));
  for (size_t lane = 0; lane < kLanes; ++lane) {
    alone[lane].environment = std::move(copies[lane]);
    REQUIRE_OK(ResetOneLeaf(alone[lane].environment.get(), alone[lane].observation));
  }
  return alone;
}

void CheckRow(const ReadyLanes& ready, size_t row, const Alone& expected) {
  const float* const shown = static_cast<const float*>(ready.observations[0]) + 3 * row;
  REQUIRE(std::vector<float>(shown, shown + 3) == std::vector<float>(expected.observation, expected.observation + 3));
  REQUIRE(static_cast<StepType>(ready.step_types[row]) == expected.type);
  REQUIRE((ready.first[row] == 1) == (expected.type == StepType::kFirst));
  REQUIRE(ready.rewards[0][row] == expected.reward);
  REQUIRE(ready.discounts[row] == expected.discount);
}

TEST_CASE("each lane's rows are those of its environment alone, with the final observation as a row", "[unit]") {
  LocalVectorEnvironment vector = MakeVector(3);
  std::vector<Alone> alone = MakeAlone(3);
  REQUIRE_OK(vector.Reset());
  ReadyLanes ready = ValueOf(vector.Recv(kLanes, StopToken()));
  int64_t episodes = 0;
  for (int64_t t = 0; t < 300; ++t) {
    REQUIRE(ready.lanes.size() == kLanes);
    std::vector<float> shown(static_cast<const float*>(ready.observations[0]),
                             static_cast<const float*>(ready.observations[0]) + 3 * kLanes);
    std::vector<int64_t> actions(kLanes);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      REQUIRE(ready.lanes[lane] == static_cast<int64_t>(lane));
      CheckRow(ready, lane, alone[lane]);
      // An action at an episode's end is ignored, even an invalid one.
      const bool last = alone[lane].type == StepType::kLast;
      actions[lane] = last ? 99 : (t + static_cast<int64_t>(lane)) % 3;
      episodes += last ? 1 : 0;
      alone[lane].Act(actions[lane]);
    }
    REQUIRE_OK(vector.Send(ready.lanes, {actions.data()}));
    const void* const before = ready.observations[0];
    ready = ValueOf(vector.Recv(1, StopToken()));
    // The row before the step is still valid after it.
    REQUIRE(std::memcmp(before, shown.data(), shown.size() * sizeof(float)) == 0);
  }
  REQUIRE(episodes > 100);
}

TEST_CASE("lanes that are sent without the others are answered without them, in the order of Send", "[unit]") {
  LocalVectorEnvironment vector = MakeVector(3);
  std::vector<Alone> alone = MakeAlone(3);
  Rng rng(8);
  REQUIRE_OK(vector.Reset());
  ReadyLanes ready = ValueOf(vector.Recv(1, StopToken()));
  std::vector<int64_t> waiting(ready.lanes.begin(), ready.lanes.end());  // Waiting for an action.
  for (int64_t t = 0; t < 500; ++t) {
    std::vector<int64_t> sent;
    const size_t batches = 1 + rng.UniformInt(2);
    for (size_t batch = 0; batch < batches; ++batch) {
      const size_t count = rng.UniformInt(waiting.size() + 1);
      std::vector<int64_t> lanes;
      std::vector<int64_t> actions;
      while (lanes.size() < count) {
        const auto at = waiting.begin() + static_cast<int64_t>(rng.UniformInt(waiting.size()));
        lanes.push_back(*at);
        actions.push_back(static_cast<int64_t>(rng.UniformInt(3)));
        alone[static_cast<size_t>(*at)].Act(actions.back());
        waiting.erase(at);
      }
      REQUIRE_OK(vector.Send(lanes, {actions.data()}));
      sent.insert(sent.end(), lanes.begin(), lanes.end());
    }
    ready = ValueOf(vector.Recv(static_cast<int64_t>(sent.size()), StopToken()));
    REQUIRE(std::vector<int64_t>(ready.lanes.begin(), ready.lanes.end()) == sent);
    for (size_t row = 0; row < sent.size(); ++row) {
      CheckRow(ready, row, alone[static_cast<size_t>(sent[row])]);
    }
    waiting.insert(waiting.end(), sent.begin(), sent.end());
    REQUIRE(waiting.size() == kLanes);
  }
}

TEST_CASE("a reset begins new episodes while others are under way", "[unit]") {
  LocalVectorEnvironment vector = MakeVector(3);
  REQUIRE_OK(vector.Reset());
  ReadyLanes ready = ValueOf(vector.Recv(1, StopToken()));
  const int64_t action = 0;
  REQUIRE_OK(vector.Send({2}, {&action}));
  REQUIRE_OK(vector.Reset());
  ready = ValueOf(vector.Recv(kLanes, StopToken()));
  REQUIRE(ready.lanes.size() == kLanes);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    REQUIRE(ready.lanes[lane] == static_cast<int64_t>(lane));
    REQUIRE(ready.first[lane] == 1);
    REQUIRE(static_cast<const float*>(ready.observations[0])[3 * lane + 1] == 1);  // The second episode.
  }
}

// An environment that always terminates and truncates at once, with a reward that its test chooses.
class OneStep : public Environment {
 public:
  explicit OneStep(float reward) : reward_(reward), spec_(CountingEnvironment(1, 0).spec()) {}
  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const>) override { return absl::OkStatus(); }
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const>, absl::Span<void* const>, float* rewards) override {
    rewards[0] = reward_;
    return StepOutcome{true, true};
  }

 private:
  const float reward_;
  const EnvironmentSpec spec_;
};

LocalVectorEnvironment OneLane(float reward) {
  std::vector<std::unique_ptr<Environment>> environments;
  environments.push_back(std::make_unique<OneStep>(reward));
  return LocalVectorEnvironment(std::move(environments));
}

TEST_CASE("an episode that is terminated and truncated in one step is terminated", "[unit]") {
  LocalVectorEnvironment vector = OneLane(1);
  const int64_t action = 0;
  REQUIRE_OK(vector.Reset());
  REQUIRE_OK(vector.Send(ValueOf(vector.Recv(1, StopToken())).lanes, {&action}));
  REQUIRE(ValueOf(vector.Recv(1, StopToken())).discounts[0] == 0);
}

TEST_CASE("errors of an environment name the lane", "[unit]") {
  LocalVectorEnvironment vector = MakeVector(1);
  REQUIRE_OK(vector.Reset());
  REQUIRE_OK(vector.Recv(1, StopToken()).status());
  const int64_t actions[2] = {0, 5};
  absl::Status status = vector.Send({4, 2}, {static_cast<const void*>(actions)});
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(status.message() == "lane 2: no such action");

  LocalVectorEnvironment broken = OneLane(std::nanf(""));
  REQUIRE_OK(broken.Reset());
  REQUIRE_OK(broken.Recv(1, StopToken()).status());
  status = broken.Send({0}, {static_cast<const void*>(actions)});
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("lane 0: Counting gave a reward of nan"));
}

TEST_CASE("A lane's picture is its environment's", "[unit]") {
  REQUIRE_CODE(MakeVector(1).Draw(0), absl::StatusCode::kUnimplemented);
  const EnvironmentDefinition definition = *ValueOf(BuiltinEnvironments().Find("CartPole-v1"));
  LocalVectorEnvironment poles(ValueOf(MakeEnvironments(definition, EnvironmentOptions(), 2, Rng(1))));
  REQUIRE_OK(poles.Reset());
  REQUIRE_OK(poles.Recv(2, StopToken()).status());
  const Picture before = ValueOf(poles.Draw(0));
  CHECK(ValueOf(poles.Draw(1)).rgb() != before.rgb());
  const int64_t action = 1;
  for (int i = 0; i < 5; ++i) {
    REQUIRE_OK(poles.Send({1}, {static_cast<const void*>(&action)}));
    REQUIRE_OK(poles.Recv(1, StopToken()).status());
  }
  CHECK(ValueOf(poles.Draw(0)).rgb() == before.rgb());
}

}  // namespace
}  // namespace waggle
