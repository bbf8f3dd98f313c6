#include "common/rl/network_policy.h"

#include <limits>

#include "common/nn/weights_codec.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

constexpr int64_t kLanes = 4;

struct Fixture {
  explicit Fixture(const ApexDqnOptions& options = ApexDqnOptions(), int64_t choices = 3)
      : experiment(testing::DqnExperiment(options)) {
    context.experiment = &experiment;
    context.definitions = &definitions;
    context.environment = testing::DqnEnvironment(2, choices);
    context.lanes = kLanes;
    context.all_lanes = kLanes;
    context.seed = 11;
    policy = testing::ValueOf(NetworkPolicy::Create(context));
  }

  // Gives the network the Q-values `weight` * observation.
  absl::Status Load(const torch::Tensor& weight) {
    const std::unique_ptr<Network> network = NewNetwork();
    network->parameters().value_views()[0].copy_(weight);
    network->parameters().value_views()[1].zero_();
    return policy->LoadWeights(testing::ValueOf(EncodeWeights(network->parameters(), network->plan().hash)));
  }

  std::unique_ptr<Network> NewNetwork() const {
    const ExperimentPlan plan = testing::ValueOf(PlanExperiment(experiment, context.environment, definitions));
    return testing::ValueOf(Network::Create(*plan.acting(), torch::kCPU, 1));
  }

  absl::Status Act(ActMode mode) {
    PolicyInput input;
    input.slots = slots;
    const void* const shown = observations.data();
    input.observations = {&shown, 1};
    PolicyOutput output;
    output.actions = {actions.data()};
    output.private_values = private_values.data();
    return policy->Act(input, mode, &output);
  }

  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  Experiment experiment;
  PolicyContext context;
  std::unique_ptr<Policy> policy;
  std::vector<int64_t> slots = {0, 1, 2, 3};
  std::vector<float> observations = {1, 0, 0, 1, 1, 1, 2, 0};
  std::vector<int64_t> actions = std::vector<int64_t>(kLanes);
  std::vector<float> private_values = std::vector<float>(2 * kLanes);
};

torch::Tensor Weight() {
  return torch::tensor({{1.0F, 4.0F}, {2.0F, 3.0F}, {0.0F, 5.0F}});
}

TEST_CASE("greedy actions have the largest Q-value of their own observation", "[unit]") {
  Fixture fixture;
  REQUIRE_OK(fixture.Load(Weight()));
  REQUIRE_OK(fixture.Act(ActMode::kGreedy));
  CHECK(fixture.actions == std::vector<int64_t>{1, 2, 0, 1});
  CHECK(fixture.private_values == std::vector<float>{2, 2, 5, 5, 5, 5, 4, 4});
  CHECK(fixture.policy->private_columns() == std::vector<std::string>{"q_taken", "q_max"});
  CHECK(fixture.policy->columns().empty());
}

TEST_CASE("each lane explores by its own epsilon, and says the value of what it took", "[unit]") {
  ApexDqnOptions options;
  options.exploration.epsilon = 0.5;
  options.exploration.ladder_exponent = 3;
  Fixture fixture(options);
  REQUIRE_OK(fixture.Load(Weight()));
  const std::vector<int64_t> greedy = {1, 2, 0, 1};
  const int rounds = 4000;
  std::vector<int> strayed(kLanes);
  for (int round = 0; round < rounds; ++round) {
    REQUIRE_OK(fixture.Act(ActMode::kExplore));
    for (size_t lane = 0; lane < kLanes; ++lane) {
      strayed[lane] += fixture.actions[lane] != greedy[lane] ? 1 : 0;
      const int64_t action = fixture.actions[lane];
      const float expected = Weight()[action][0].item<float>() * fixture.observations[2 * lane] +
                             Weight()[action][1].item<float>() * fixture.observations[2 * lane + 1];
      REQUIRE(fixture.private_values[2 * lane] == Approx(expected));
    }
  }
  // A random action is the greedy one in one of three cases. Epsilons: 1/2, 1/4, 1/8, 1/16.
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const double expected = std::pow(0.5, 1 + static_cast<double>(lane)) * 2 / 3;
    CHECK(strayed[lane] / static_cast<double>(rounds) == Approx(expected).margin(0.03));
  }
}

TEST_CASE("some slots may act without the others, in any order", "[unit]") {
  ApexDqnOptions options;
  options.exploration.epsilon = 0.5;
  options.exploration.ladder_exponent = 3;
  Fixture fixture(options);
  REQUIRE_OK(fixture.Load(Weight()));
  fixture.slots = {3, 0};  // Of the epsilons 1/16 and 1/2.
  fixture.actions = {7, 7, 7, 7};
  REQUIRE_OK(fixture.Act(ActMode::kGreedy));
  CHECK(fixture.actions == std::vector<int64_t>{1, 2, 7, 7});
  const int rounds = 4000;
  std::vector<int> strayed(2);
  for (int round = 0; round < rounds; ++round) {
    REQUIRE_OK(fixture.Act(ActMode::kExplore));
    strayed[0] += fixture.actions[0] != 1 ? 1 : 0;
    strayed[1] += fixture.actions[1] != 2 ? 1 : 0;
  }
  CHECK(strayed[0] / static_cast<double>(rounds) == Approx(2.0 / 3 / 16).margin(0.03));
  CHECK(strayed[1] / static_cast<double>(rounds) == Approx(2.0 / 3 / 2).margin(0.03));
}

TEST_CASE("exploration begins at random where it is annealed, and greedy acting does not use it up", "[unit]") {
  ApexDqnOptions options;
  options.exploration.epsilon = Schedule::Linear(1, 0, Schedule::Clock::kEnvSteps, 2 * kLanes);
  options.exploration.ladder_exponent = 0;
  Fixture fixture(options);
  REQUIRE_OK(fixture.Load(torch::tensor({{9.0F, 9.0F}, {0.0F, 0.0F}, {0.0F, 0.0F}})));
  for (int round = 0; round < 50; ++round) {
    REQUIRE_OK(fixture.Act(ActMode::kGreedy));
    CHECK(fixture.actions == std::vector<int64_t>{0, 0, 0, 0});
  }
  // Half of the first exploring step's lanes are to be random; with this seed at least one strays.
  REQUIRE_OK(fixture.Act(ActMode::kExplore));
  CHECK(fixture.actions != std::vector<int64_t>{0, 0, 0, 0});
  for (int round = 0; round < 50; ++round) {
    REQUIRE_OK(fixture.Act(ActMode::kExplore));
    CHECK(fixture.actions == std::vector<int64_t>{0, 0, 0, 0});
  }
}

TEST_CASE("an actor that is started again explores on where it was", "[unit]") {
  ApexDqnOptions options;
  options.exploration.epsilon = Schedule::Linear(1, 0, Schedule::Clock::kEnvSteps, 1'000'000);
  options.exploration.ladder_exponent = 0;
  Fixture fixture(options);
  fixture.context.first_step = 1'000'000;
  fixture.policy = testing::ValueOf(NetworkPolicy::Create(fixture.context));
  REQUIRE_OK(fixture.Load(torch::tensor({{9.0F, 9.0F}, {0.0F, 0.0F}, {0.0F, 0.0F}})));
  for (int round = 0; round < 50; ++round) {
    REQUIRE_OK(fixture.Act(ActMode::kExplore));
    CHECK(fixture.actions == std::vector<int64_t>{0, 0, 0, 0});
  }
}

TEST_CASE("the same seed explores alike", "[unit]") {
  Fixture one;
  Fixture two;
  for (int round = 0; round < 100; ++round) {
    REQUIRE_OK(one.Act(ActMode::kExplore));
    REQUIRE_OK(two.Act(ActMode::kExplore));
    REQUIRE(one.actions == two.actions);
  }
}

TEST_CASE("Q-values that are not finite are an error that names the slot", "[unit]") {
  Fixture fixture;
  REQUIRE_OK(fixture.Load(Weight()));
  fixture.observations[4] = std::numeric_limits<float>::infinity();
  const absl::Status status = fixture.Act(ActMode::kGreedy);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "slot 2: the Q-values of its observation are not finite");
}

TEST_CASE("slots that there are not and weights of another network are refused", "[unit]") {
  Fixture fixture;
  fixture.slots = {0, 4};
  CHECK(fixture.Act(ActMode::kGreedy).message() == "slot 4 is outside [0, 4)");
  fixture.slots = {-1};
  CHECK(fixture.Act(ActMode::kGreedy).message() == "slot -1 is outside [0, 4)");
  fixture.slots = {0, 1, 2, 3, 3};
  CHECK(fixture.Act(ActMode::kGreedy).message() == "5 rows for a policy of 4 slots");
  Fixture other(ApexDqnOptions(), 2);
  const auto network = other.NewNetwork();
  REQUIRE_CODE(
      fixture.policy->LoadWeights(testing::ValueOf(EncodeWeights(network->parameters(), network->plan().hash))),
      absl::StatusCode::kFailedPrecondition);
  fixture.context.lanes = 0;
  REQUIRE_CODE(NetworkPolicy::Create(fixture.context), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
