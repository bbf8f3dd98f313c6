#include "actor/environments/environment_lanes.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::ManyLeaves;
using testing::ValueOf;

constexpr size_t kLanes = 3;

// All lanes' arrays.
struct Arrays {
  uint8_t camera[kLanes][6] = {};
  float place[kLanes][2] = {};
  bool mask[kLanes][7] = {};
  int64_t move[kLanes][2] = {{1, 1}, {1, 2}, {2, 3}};
  float turn[kLanes] = {-1, 5, 0.25};
  float reward[kLanes][2] = {};
  std::vector<void*> observations = {camera, place, mask};
  std::vector<float*> rewards = {reward[0]};
  std::vector<const void*> actions = {move, turn};
};

EnvironmentLanes MakeLanes() {
  std::vector<std::unique_ptr<Environment>> environments;
  for (uint64_t seed = 10; seed < 10 + kLanes; ++seed) {
    environments.push_back(std::make_unique<ManyLeaves>(seed));
  }
  return EnvironmentLanes(std::move(environments), "test lane");
}

TEST_CASE("a step reads and writes the rows of its lane alone, of every leaf", "[unit]") {
  EnvironmentLanes lanes = MakeLanes();
  CHECK(lanes.size() == kLanes);
  CHECK(lanes.spec() == ManyLeaves(0).spec());
  Arrays arrays;
  REQUIRE_OK(lanes.Reset(1, arrays.observations, 1));
  CHECK(arrays.place[1][0] == 11);
  CHECK(arrays.camera[1][5] == 16);
  CHECK(arrays.mask[1][6]);
  for (const size_t other : {0, 2}) {
    CHECK(arrays.place[other][0] == 0);
    CHECK(arrays.camera[other][5] == 0);
    CHECK_FALSE(arrays.mask[other][6]);
  }
  REQUIRE_OK(lanes.Reset(2, arrays.observations, 2));
  const StepOutcome step = ValueOf(lanes.Step(2, arrays.actions, 2, arrays.observations, arrays.rewards, 2));
  CHECK(arrays.place[2][1] == 1);
  CHECK(arrays.place[1][1] == 0);
  CHECK(arrays.reward[2][0] == 2 + 300);
  CHECK(arrays.reward[2][1] == 3);  // 0.25 in [-2, 6].
  CHECK(arrays.reward[1][1] == 0);
  CHECK_FALSE(step.terminated);
}

TEST_CASE("an action is clamped and scaled for the environment, and the chosen action does not change", "[unit]") {
  EnvironmentLanes lanes = MakeLanes();
  Arrays arrays;
  REQUIRE_OK(lanes.Reset(0, arrays.observations, 0));
  REQUIRE_OK(lanes.Reset(1, arrays.observations, 1));
  REQUIRE_OK(lanes.Step(0, arrays.actions, 0, arrays.observations, arrays.rewards, 0));
  REQUIRE_OK(lanes.Step(1, arrays.actions, 1, arrays.observations, arrays.rewards, 1));
  CHECK(arrays.reward[0][1] == -2);
  CHECK(arrays.reward[1][1] == 6);
  CHECK(arrays.turn[1] == 5);
}

// Rewards two agents: the first with a vector.
class TwoRewarded : public Environment {
 public:
  TwoRewarded() {
    spec_.rewards = {ArraySpec{"a/reward", DType::kFloat32, {2}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  }
  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const>) override { return absl::OkStatus(); }
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const>, absl::Span<void* const>, float* rewards) override {
    std::iota(rewards, rewards + 3, 1.0F);
    return StepOutcome();
  }

 private:
  EnvironmentSpec spec_;
};

TEST_CASE("rewards of several leaves are written to a row of each", "[unit]") {
  std::vector<std::unique_ptr<Environment>> environments;
  environments.push_back(std::make_unique<TwoRewarded>());
  EnvironmentLanes lanes(std::move(environments), "test lane");
  std::vector<float> first(6);
  std::vector<float> second(3);
  REQUIRE_OK(lanes.Step(0, {}, 0, {}, {first.data(), second.data()}, 1));
  CHECK(first == std::vector<float>{0, 0, 1, 2, 0, 0});
  CHECK(second == std::vector<float>{0, 3, 0});
}

TEST_CASE("errors name the lane and its owner", "[unit]") {
  EnvironmentLanes lanes = MakeLanes();
  Arrays arrays;
  absl::Status status = lanes.Step(1, arrays.actions, 1, arrays.observations, arrays.rewards, 1).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  CHECK(status.message() == "test lane 1: the episode is over");
  REQUIRE_OK(lanes.Reset(1, arrays.observations, 1));
  arrays.turn[1] = NAN;
  status = lanes.Step(1, arrays.actions, 1, arrays.observations, arrays.rewards, 1).status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "test lane 1: no such turn");
}

TEST_CASE("environments are not made if lanes or specs are wrong", "[unit]") {
  EnvironmentDefinition definition = CountingEnvironment::Definition(4);
  REQUIRE_CODE(MakeEnvironments(definition, EnvironmentOptions(), 0, Rng(1)), absl::StatusCode::kInvalidArgument);
  definition.spec = [](const EnvironmentOptions&) { return CountingEnvironment(4 + 1, 0).spec(); };
  REQUIRE_CODE(MakeEnvironments(definition, EnvironmentOptions(), 1, Rng(1)), absl::StatusCode::kInvalidArgument);
  definition = CountingEnvironment::Definition(4);
  definition.create = [](const EnvironmentOptions&, uint64_t) -> absl::StatusOr<std::unique_ptr<Environment>> {
    return absl::NotFoundError("no ROM");
  };
  const auto made = MakeEnvironments(definition, EnvironmentOptions(), 1, Rng(1));
  REQUIRE_CODE(made, absl::StatusCode::kNotFound);
  REQUIRE(made.status().message() == "lane 0: no ROM");
}

}  // namespace
}  // namespace waggle
