#include "common/rl/acting/network_policy.h"

#include <limits>
#include <numeric>

#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"
#include "tests/common/rl/acting/made_policy.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

using testing::MadePolicy;
using testing::NoOptions;

constexpr int64_t kLanes = 4;

struct Fixture {
  explicit Fixture(const ApexDqnOptions& options = ApexDqnOptions()) : experiment(testing::DqnExperiment(options)) {
    context.experiment = &experiment;
    context.definitions = &definitions;
    context.environment = testing::DqnEnvironment(2, 3);
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
    return policy->LoadWeights(testing::ValueOf(EncodeWeights({{"q", &network->parameters()}}, network->plan().hash)));
  }

  std::unique_ptr<Network> NewNetwork() const {
    const ExperimentPlan plan = testing::ValueOf(PlanExperiment(experiment, context.environment, definitions));
    return testing::ValueOf(Network::Create(*plan.acting()[0], torch::kCPU, 1));
  }

  absl::Status Act(ActMode mode) {
    PolicyInput input;
    input.slots = slots;
    const void* const shown = observations.data();
    input.observations = {&shown, 1};
    input.first = first.data();
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
  std::vector<uint8_t> first = std::vector<uint8_t>(kLanes);
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

TEST_CASE("each lane explores by its own epsilon, and returns the value of its action", "[unit]") {
  ApexDqnOptions options;
  options.exploration.epsilon = 0.5;
  options.exploration.ladder_exponent = 3;
  Fixture fixture(options);
  REQUIRE_OK(fixture.Load(Weight()));
  fixture.slots = {3, 0, 2, 1};
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
  for (size_t row = 0; row < kLanes; ++row) {
    const double expected = std::pow(0.5, 1 + static_cast<double>(fixture.slots[row])) * 2 / 3;
    CHECK(strayed[row] / static_cast<double>(rounds) == Approx(expected).margin(0.03));
  }
}

TEST_CASE("the final row of an episode, whose action is not taken, is no step of exploration", "[unit]") {
  ApexDqnOptions options;
  options.exploration.epsilon = 0;
  options.exploration.warm_up_steps = 10 * kLanes;
  Fixture fixture(options);
  REQUIRE_OK(fixture.Load(torch::tensor({{9.0F, 9.0F}, {0.0F, 0.0F}, {0.0F, 0.0F}})));
  // Episodes of one step: every second row is a final one. The first ten steps of each lane are random.
  std::vector<bool> random;
  for (int row = 0; row < 30; ++row) {
    fixture.first.assign(kLanes, row % 2 == 0 ? 1 : 0);
    REQUIRE_OK(fixture.Act(ActMode::kExplore));
    random.push_back(fixture.actions != std::vector<int64_t>{0, 0, 0, 0});
  }
  // With this seed some lane strays in each of them.
  for (int row = 0; row < 30; row += 2) {
    INFO("row " << row);
    CHECK(random[static_cast<size_t>(row)] == (row < 20));
  }
}

TEST_CASE("a restarted actor continues its exploration", "[unit]") {
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

TEST_CASE("Q-values that are not finite are an error that names the slot", "[unit]") {
  Fixture fixture;
  REQUIRE_OK(fixture.Load(Weight()));
  fixture.observations[4] = std::numeric_limits<float>::infinity();
  const absl::Status status = fixture.Act(ActMode::kGreedy);
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::StartsWith("slot 2: "));
}

TEST_CASE("Q-values of NaN are an error under a mask, not an illegal choice", "[unit]") {
  Fixture fixture;
  fixture.context.environment.observations.push_back(MultiBinary("action_mask", {3}));
  fixture.policy = testing::ValueOf(NetworkPolicy::Create(fixture.context));
  REQUIRE_OK(fixture.Load(Weight()));
  PolicyInput input;
  input.slots = fixture.slots;
  const bool mask[3 * kLanes] = {true, false, true, true, false, true, false, false, true, false, true, true};
  const void* const shown[] = {fixture.observations.data(), mask};
  input.observations = shown;
  PolicyOutput output;
  output.actions = {fixture.actions.data()};
  output.private_values = fixture.private_values.data();
  REQUIRE_OK(fixture.policy->Act(input, ActMode::kGreedy, &output));
  CHECK(fixture.actions == std::vector<int64_t>{0, 2, 2, 1});
  fixture.observations[4] = std::numeric_limits<float>::quiet_NaN();
  REQUIRE_CODE(fixture.policy->Act(input, ActMode::kGreedy, &output), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("slots that the policy does not have are refused", "[unit]") {
  Fixture fixture;
  fixture.slots = {0, 4};
  REQUIRE_CODE(fixture.Act(ActMode::kGreedy), absl::StatusCode::kInvalidArgument);
  fixture.slots = {-1};
  REQUIRE_CODE(fixture.Act(ActMode::kGreedy), absl::StatusCode::kInvalidArgument);
  fixture.slots = {0, 1, 2, 3, 3};
  REQUIRE_CODE(fixture.Act(ActMode::kGreedy), absl::StatusCode::kInvalidArgument);
  fixture.context.lanes = 0;
  REQUIRE_CODE(NetworkPolicy::Create(fixture.context), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a policy takes up to max_rows rows at a time", "[unit]") {
  Fixture fixture;
  fixture.context.max_rows = 2;
  fixture.policy = testing::ValueOf(NetworkPolicy::Create(fixture.context));
  REQUIRE_OK(fixture.Load(Weight()));
  fixture.actions = {7, 7, 7, 7};
  for (const std::vector<int64_t>& slots : std::vector<std::vector<int64_t>>{{3, 1}, {2}}) {
    fixture.slots = slots;
    REQUIRE_OK(fixture.Act(ActMode::kGreedy));
    CHECK(fixture.actions[0] == 1);
    CHECK(fixture.actions[1] == 2);  // Only the rows of a round's slots are written.
    CHECK(fixture.actions[2] == 7);
  }
  fixture.slots = {0, 1, 2};
  REQUIRE_CODE(fixture.Act(ActMode::kGreedy), absl::StatusCode::kInvalidArgument);
  fixture.context.max_rows = 100;  // Limited to the number of slots.
  fixture.policy = testing::ValueOf(NetworkPolicy::Create(fixture.context));
  fixture.slots = {0, 1, 2, 3};
  REQUIRE_OK(fixture.Act(ActMode::kGreedy));
}

absl::StatusOr<AlgorithmPlan> RememberingPlan(const NoOptions&, const PlanContext& context) {
  NetworkNeed need{"net", {{"value", HeadKind::kValue}}};
  const bool discrete = context.environment.actions[0].kind == SpaceKind::kDiscrete;
  need.heads["policy"] = discrete ? HeadKind::kQ : HeadKind::kNormal;
  need.acts = true;
  AlgorithmPlan algorithm{{need}};
  algorithm.columns = {NumberColumn("value")};
  return algorithm;
}

NetworkSpec CoreOfTwoUnits(const std::string& type) {
  NetworkSpec spec;
  spec.core.type = type;
  spec.core.units = 2;
  return spec;
}

// A policy of three slots whose network remembers, for each kind of head that acts.
struct RecurrentFixture : MadePolicy {
  explicit RecurrentFixture(const SpaceLeaf& action, const std::string& core = "lstm")
      : MadePolicy({action}, 3, NoOptions(), CoreOfTwoUnits(core), RememberingPlan) {}

  // The column "core_state": each slot's memory before its row.
  torch::Tensor Act(const std::vector<int64_t>& slots, const torch::Tensor& observations,
                    const std::vector<uint8_t>& first, ActMode mode = ActMode::kExplore) {
    REQUIRE_OK(TryAct(slots, observations, first, mode));
    return state;
  }

  absl::Status TryAct(const std::vector<int64_t>& slots, const torch::Tensor& observations,
                      const std::vector<uint8_t>& first, ActMode mode = ActMode::kExplore) {
    PolicyInput input;
    input.slots = slots;
    const void* const shown = observations.data_ptr();
    input.observations = {&shown, 1};
    input.first = first.data();
    const auto rows = static_cast<int64_t>(slots.size());
    state = torch::full({rows, network->plan().state_size}, -7.0F);
    value = torch::zeros({rows});
    std::vector<int64_t> actions(slots.size());
    PolicyOutput output;
    output.actions = {actions.data()};
    output.columns = {value.data_ptr(), state.data_ptr()};
    return policy->Act(input, mode, &output);
  }

  // The network's output for one row.
  Output Step(const torch::Tensor& observation, const torch::Tensor& before) const {
    return Unroll(*network, {observation.unsqueeze(0)}, {}, before.unsqueeze(0));
  }

  torch::Tensor value;  // For the latest rows.
  torch::Tensor state;
};

const SpaceLeaf kReal = Box("action", DType::kFloat32, {2}, -1, 1);

struct ExploringOptions : NoOptions {
  HeadKind head = HeadKind::kCategorical;
  ExplorationOptions exploration;
};

absl::StatusOr<AlgorithmPlan> ExploringPlan(const ExploringOptions& options, const PlanContext&) {
  NetworkNeed need{"net", {{"policy", options.head}}};
  need.acts = true;
  AlgorithmPlan algorithm{{need}};
  algorithm.columns = {NumberColumn("log_prob")};
  algorithm.exploration = options.exploration;
  return algorithm;
}

// A policy of 50 slots that writes log-probabilities.
struct LogProbFixture : MadePolicy {
  static constexpr int64_t kSlots = 50;

  LogProbFixture(const std::vector<SpaceLeaf>& actions, const ExploringOptions& options)
      : MadePolicy(actions, kSlots, options, NetworkSpec(), ExploringPlan) {}

  // Fills the leaves of the action, and returns the log-probabilities that are written.
  torch::Tensor Act(const torch::Tensor& observations, const std::vector<torch::Tensor>& actions) {
    std::vector<int64_t> slots(kSlots);
    std::iota(slots.begin(), slots.end(), 0);
    const std::vector<uint8_t> first(kSlots, 1);
    const void* const shown = observations.data_ptr();
    torch::Tensor log_prob = torch::full({kSlots}, -7.0F);
    PolicyInput input;
    input.slots = slots;
    input.observations = {&shown, 1};
    input.first = first.data();
    PolicyOutput output;
    for (const torch::Tensor& action : actions) {
      output.actions.push_back(action.data_ptr());
    }
    output.columns = {log_prob.data_ptr()};
    REQUIRE_OK(policy->Act(input, ActMode::kExplore, &output));
    return log_prob;
  }
};

TEST_CASE("the log-probability beside an action is that of the action that is written", "[unit]") {
  ExplorationOptions warm_up;
  warm_up.warm_up_steps = 1'000;
  ExplorationOptions noise;
  noise.type = "gaussian";
  noise.sigma = 0.5;
  ExplorationOptions drift;
  drift.type = "ornstein_uhlenbeck";
  drift.sigma = 0.5;
  for (const ExplorationOptions& exploration : {ExplorationOptions(), warm_up, noise, drift}) {
    const SpaceLeaf arm = Box("action/arm", DType::kFloat32, {2, 1}, -1, 1);
    const SpaceLeaf steer = Box("action/steer", DType::kFloat32, {}, -1, 1);
    const SpaceLeaf gear = Discrete("action/gear", 3);
    const SpaceLeaf lights = MultiBinary("action/lights", {2});
    for (const auto& [actions, head] : std::vector<std::pair<std::vector<SpaceLeaf>, HeadKind>>{
             {{Discrete("action", 3)}, HeadKind::kCategorical},
             {{MultiDiscrete("action", {3, 2})}, HeadKind::kCategorical},
             {{MultiDiscrete("action", {3})}, HeadKind::kCategorical},
             {{lights, gear}, HeadKind::kCategorical},
             {{kReal}, HeadKind::kNormal},
             {{kReal}, HeadKind::kTanhNormal},
             {{steer, arm}, HeadKind::kTanhNormal},
             {{arm, lights, steer, gear}, HeadKind::kMixed}}) {
      const bool are_real = head == HeadKind::kNormal || head == HeadKind::kTanhNormal;
      if (exploration.type != "none" && !are_real) {
        continue;
      }
      INFO(exploration.type << ", warm-up " << exploration.warm_up_steps << ", " << actions[0].DebugString());
      ExploringOptions options;
      options.head = head;
      options.exploration = exploration;
      LogProbFixture fixture(actions, options);
      const torch::NoGradGuard no_grad;
      torch::manual_seed(2);
      const torch::Tensor observations = torch::randn({LogProbFixture::kSlots, 2});
      std::vector<torch::Tensor> leaves;
      for (const SpaceLeaf& action : actions) {
        std::vector<int64_t> shape = action.array.shape;
        shape.insert(shape.begin(), LogProbFixture::kSlots);
        leaves.push_back(torch::zeros(shape, ToScalarType(action.array.dtype)));
      }
      const torch::Tensor written = fixture.Act(observations, leaves);
      const JointAction& joint = fixture.network->plan().action;
      std::vector<torch::Tensor> elements;
      for (const JointAction::Part& part : joint.parts) {
        elements.push_back(leaves[part.leaf].reshape({LogProbFixture::kSlots, -1}));
        elements.back() = elements.back().to(joint.num_reals > 0 ? torch::kFloat32 : torch::kInt64);
      }
      const torch::Tensor action = joint.is_scalar ? leaves[0] : torch::cat(elements, 1);
      const torch::Tensor expected = Forward(*fixture.network, {observations}).policy("policy").LogProb(action);
      CHECK(torch::allclose(written, expected, 1e-3, 1e-3));
    }
  }
}

TEST_CASE("each slot remembers its own episode, whichever slots act and in any order", "[unit]") {
  for (const SpaceLeaf& action : {Discrete("action", 3), kReal}) {
    for (const char* core : {"lstm", "gru"}) {
      for (const ActMode mode : {ActMode::kExplore, ActMode::kGreedy}) {
        RecurrentFixture fixture(action, core);
        const torch::NoGradGuard no_grad;
        const int64_t size = fixture.network->plan().state_size;
        REQUIRE(fixture.policy->columns().size() == 2);
        CHECK(fixture.policy->columns()[1].DebugString() == "core_state: float32[" + std::to_string(size) + "]");
        torch::manual_seed(2);
        std::vector<torch::Tensor> states(3, torch::zeros({size}));
        const std::vector<std::pair<std::vector<int64_t>, std::vector<uint8_t>>> rounds = {
            {{0, 1, 2}, {1, 1, 1}}, {{2, 0}, {0, 0}}, {{1}, {0}}, {{1, 2, 0}, {0, 1, 0}}, {{0, 1, 2}, {0, 0, 0}}};
        for (const auto& [slots, first] : rounds) {
          const torch::Tensor observations = torch::randn({static_cast<int64_t>(slots.size()), 2});
          const torch::Tensor before = fixture.Act(slots, observations, first, mode);
          for (size_t row = 0; row < slots.size(); ++row) {
            torch::Tensor& state = states[static_cast<size_t>(slots[row])];
            state = first[row] != 0 ? torch::zeros({size}) : state;
            const auto at = static_cast<int64_t>(row);
            CHECK(torch::allclose(before[at], state));
            const Output step = fixture.Step(observations[at], state);
            CHECK(torch::allclose(fixture.value[at], step.value()[0]));
            state = step.core_state()[0];
          }
        }
      }
    }
  }
}

TEST_CASE("new weights do not change a policy's memory", "[unit]") {
  RecurrentFixture fixture(kReal);
  const torch::NoGradGuard no_grad;
  const torch::Tensor observation = torch::ones({1, 2});
  const torch::Tensor zero = fixture.Act({1}, observation, {1});
  CHECK((zero == 0).all().item<bool>());
  const torch::Tensor after = fixture.Step(observation[0], zero[0]).core_state();
  fixture.Load(4);
  CHECK(torch::allclose(fixture.Act({1}, observation, {0}), after));
  CHECK(after.abs().max().item<double>() > 0);
}

TEST_CASE("a failed Act does not change the slots' memory", "[unit]") {
  for (const SpaceLeaf& action : {Discrete("action", 3), kReal}) {
    RecurrentFixture fixture(action);
    const torch::NoGradGuard no_grad;
    fixture.Act({0, 1}, torch::ones({2, 2}), {1, 1});
    const torch::Tensor before = fixture.Act({0, 1}, torch::ones({2, 2}), {0, 0});
    CHECK(before.abs().max().item<double>() > 0);
    const torch::Tensor after = torch::stack({fixture.Step(torch::ones({2}), before[0]).core_state()[0],
                                              fixture.Step(torch::ones({2}), before[1]).core_state()[0]});
    torch::Tensor bad = torch::ones({2, 2});
    bad[1][0] = std::numeric_limits<float>::quiet_NaN();
    REQUIRE_CODE(fixture.TryAct({0, 1}, bad, {0, 0}), absl::StatusCode::kInvalidArgument);
    CHECK(torch::allclose(fixture.Act({0, 1}, torch::ones({2, 2}), {0, 0}), after));
  }
}

}  // namespace
}  // namespace waggle
