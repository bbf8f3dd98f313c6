#include "actor/vector_environment.h"

#include <cmath>
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

VectorEnvironment MakeVector(uint64_t seed) {
  return VectorEnvironment(
      ValueOf(MakeEnvironments(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kLanes, Rng(seed))));
}

TEST_CASE("each lane's rows are those of its environment alone, with the final observation as a row", "[unit]") {
  VectorEnvironment vector = MakeVector(3);
  auto alone =
      ValueOf(MakeEnvironments(CountingEnvironment::Definition(kMaxSteps), EnvironmentOptions(), kLanes, Rng(3)));
  REQUIRE_OK(vector.Reset());
  float expected[kLanes][3];
  StepType types[kLanes];
  FinishedEpisode running[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    REQUIRE_OK(ResetOneLeaf(alone[lane].get(), expected[lane]));
    types[lane] = StepType::kFirst;
  }
  int64_t env_steps = 0;
  for (int64_t t = 0; t < 300; ++t) {
    const LaneObservations row = vector.current();
    std::vector<int64_t> actions(kLanes);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      REQUIRE(static_cast<StepType>(row.step_types[lane]) == types[lane]);
      REQUIRE((row.first[lane] == 1) == (types[lane] == StepType::kFirst));
      // An action at an episode's end is ignored, even one that there is not.
      actions[lane] = types[lane] == StepType::kLast ? 99 : (t + lane) % 3;
    }
    REQUIRE_OK(vector.Step({actions.data()}));
    const float* shown = static_cast<const float*>(row.observations[0]);
    std::vector<FinishedEpisode> finished;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      // The row that was acted on is still there after the step.
      REQUIRE(std::vector<float>(shown + 3 * lane, shown + 3 * lane + 3) ==
              std::vector<float>(expected[lane], expected[lane] + 3));
      if (types[lane] == StepType::kLast) {
        REQUIRE_OK(ResetOneLeaf(alone[lane].get(), expected[lane]));
        types[lane] = StepType::kFirst;
        running[lane] = FinishedEpisode();
        REQUIRE(vector.outcomes().rewards[0][lane] == 0);
        REQUIRE(vector.outcomes().discounts[lane] == 0);
        continue;
      }
      const auto outcome = ValueOf(StepOneLeaf(alone[lane].get(), &actions[lane], expected[lane]));
      ++env_steps;
      REQUIRE(vector.outcomes().rewards[0][lane] == outcome.reward);
      REQUIRE(vector.outcomes().discounts[lane] == (outcome.terminated ? 0 : 1));
      types[lane] = outcome.terminated || outcome.truncated ? StepType::kLast : StepType::kMid;
      ++running[lane].steps;
      running[lane].total_reward += outcome.reward;
      if (types[lane] == StepType::kLast) {
        running[lane].lane = lane;
        finished.push_back(running[lane]);
      }
    }
    REQUIRE(vector.env_steps() == env_steps);
    REQUIRE(vector.finished().size() == finished.size());
    for (size_t i = 0; i < finished.size(); ++i) {
      REQUIRE(vector.finished()[i].lane == finished[i].lane);
      REQUIRE(vector.finished()[i].steps == finished[i].steps);
      REQUIRE(vector.finished()[i].total_reward == finished[i].total_reward);
    }
  }
  REQUIRE(env_steps < 300 * kLanes);
}

TEST_CASE("lanes have seeds of their own and the same seed gives the same lanes", "[unit]") {
  VectorEnvironment a = MakeVector(3);
  VectorEnvironment b = MakeVector(3);
  REQUIRE_OK(a.Reset());
  REQUIRE_OK(b.Reset());
  const float* left = static_cast<const float*>(a.current().observations[0]);
  const float* right = static_cast<const float*>(b.current().observations[0]);
  REQUIRE(left[0] != left[3]);
  REQUIRE(std::vector<float>(left, left + 3 * kLanes) == std::vector<float>(right, right + 3 * kLanes));
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

VectorEnvironment OneLane(float reward) {
  std::vector<std::unique_ptr<Environment>> environments;
  environments.push_back(std::make_unique<OneStep>(reward));
  return VectorEnvironment(std::move(environments));
}

TEST_CASE("an episode that terminates and is truncated at once is terminated", "[unit]") {
  VectorEnvironment vector = OneLane(1);
  const int64_t action = 0;
  REQUIRE_OK(vector.Reset());
  REQUIRE_OK(vector.Step({&action}));
  REQUIRE(vector.outcomes().discounts[0] == 0);
}

TEST_CASE("errors of an environment name the lane", "[unit]") {
  VectorEnvironment vector = MakeVector(1);
  REQUIRE_OK(vector.Reset());
  const int64_t actions[kLanes] = {0, 1, 5, 0, 0};
  absl::Status status = vector.Step({static_cast<const void*>(actions)});
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(status.message() == "lane 2: no such action");

  VectorEnvironment broken = OneLane(std::nanf(""));
  REQUIRE_OK(broken.Reset());
  status = broken.Step({static_cast<const void*>(actions)});
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("lane 0: Counting gave a reward of nan"));
}

}  // namespace
}  // namespace waggle
