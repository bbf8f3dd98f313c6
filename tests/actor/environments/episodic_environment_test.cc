#include "actor/environments/episodic_environment.h"

#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

// Shows the number of steps; terminal once the action is 1.
class Counter : public EpisodicEnvironment {
 public:
  explicit Counter(int64_t limit) : EpisodicEnvironment(SpecOf(limit)) {}

 private:
  static EnvironmentSpec SpecOf(int64_t limit) {
    EnvironmentSpec spec;
    spec.name = "Counter-v0";
    spec.observations = {Box("observation", DType::kFloat64, {})};
    spec.actions = {Discrete("action", 2)};
    spec.max_episode_steps = limit;
    return spec;
  }
  void Start(absl::Span<void* const> observations) override {
    *static_cast<double*>(observations[0]) = static_cast<double>(steps());
  }
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override {
    *static_cast<double*>(observations[0]) = static_cast<double>(steps() + 1);
    rewards[0] = 5;
    return *static_cast<const int64_t*>(actions[0]) == 1;
  }
};

struct Run {
  explicit Run(int64_t limit) : counter(limit) {}
  absl::StatusOr<testing::OneLeafOutcome> Step(int64_t action) {
    return testing::StepOneLeaf(&counter, &action, &observation);
  }

  Counter counter;
  double observation = 7;
};

TEST_CASE("an episode is truncated at its limit, and a reset starts another", "[unit]") {
  Run run(3);
  for (int episode = 0; episode < 2; ++episode) {
    REQUIRE_OK(testing::ResetOneLeaf(&run.counter, &run.observation));
    CHECK(run.observation == 0);
    for (int step = 1; step <= 3; ++step) {
      const auto outcome = testing::ValueOf(run.Step(0));
      CHECK(run.observation == step);
      CHECK(outcome.reward == 5);
      CHECK_FALSE(outcome.terminated);
      CHECK(outcome.truncated == (step == 3));
    }
  }
}

TEST_CASE("an episode of an environment without a limit is never truncated", "[unit]") {
  Run run(0);
  REQUIRE_OK(testing::ResetOneLeaf(&run.counter, &run.observation));
  for (int step = 1; step <= 1000; ++step) {
    REQUIRE_FALSE(testing::ValueOf(run.Step(0)).truncated);
  }
  CHECK(testing::ValueOf(run.Step(1)).terminated);
}

TEST_CASE("a terminal step at the limit is both terminated and truncated", "[unit]") {
  Run run(1);
  REQUIRE_OK(testing::ResetOneLeaf(&run.counter, &run.observation));
  const auto outcome = testing::ValueOf(run.Step(1));
  CHECK(outcome.terminated);
  CHECK(outcome.truncated);
}

TEST_CASE("a step outside an episode is refused and changes nothing", "[unit]") {
  Run run(2);
  REQUIRE_CODE(run.Step(0), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(testing::ResetOneLeaf(&run.counter, &run.observation));
  REQUIRE_OK(run.Step(1));
  REQUIRE_CODE(run.Step(0), absl::StatusCode::kFailedPrecondition);
  CHECK(run.observation == 1);
}

TEST_CASE("a wrong action is refused by the environment's name and does not count as a step", "[unit]") {
  Run run(1);
  REQUIRE_OK(testing::ResetOneLeaf(&run.counter, &run.observation));
  const absl::Status refused = run.Step(2).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()), Catch::StartsWith("Counter-v0: action: "));
  CHECK(run.observation == 0);
  CHECK(testing::ValueOf(run.Step(0)).truncated);
}

}  // namespace
}  // namespace waggle
