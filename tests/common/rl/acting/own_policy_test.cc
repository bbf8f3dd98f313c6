// Policies of an algorithm's own, and noise in the weights of networks that act.

#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"
#include "tests/common/rl/acting/made_policy.h"

namespace waggle {
namespace {

using testing::MadePolicy;
using testing::NoOptions;

struct BlendingOptions : NoOptions {};

// Two networks act: the action is the sign of the sum of their values and of the slot's number, and a greedy one is 0.
absl::StatusOr<AlgorithmPlan> BlendingPlan(const BlendingOptions&, const PlanContext&) {
  NetworkNeed one{"net", {{"value", HeadKind::kValue}}};
  one.acts = true;
  NetworkNeed other{"other", {{"numbers", HeadNeed(HeadKind::kVector, 2)}}};
  other.acts = true;
  AlgorithmPlan algorithm{{one, other}};
  ScalarNeed shift{"shift", 0.25};
  shift.acts = true;
  algorithm.scalars = {{"unpublished"}, shift};
  algorithm.own_policy = true;
  algorithm.columns = {{"numbers", DType::kFloat64, {2}}};
  algorithm.private_columns = {"value", "taken"};
  return algorithm;
}

class BlendingPolicy : public AlgorithmPolicy {
 public:
  BlendingPolicy(const BlendingOptions&, ActingNets nets)
      : nets_(std::move(nets)), taken_(torch::zeros({nets_.slots}, torch::kInt64)) {}

  Acted Act(const ActingRows& rows) override {
    const torch::Tensor numbers = nets_.net("other")(rows.observation).vector("numbers") + nets_.scalar("shift");
    const torch::Tensor value = nets_.net("net")(rows.observation).value();
    Acted acted;
    // One more than the action that the slot took before, unless an episode begins.
    acted.action = (taken_.index_select(0, rows.slots).masked_fill(rows.first, 0) + 1).remainder(3);
    if (rows.greedy) {
      acted.action = torch::zeros_like(acted.action);
    }
    acted.columns = {{"numbers", numbers}, {"value", value}};
    return acted;
  }
  void NoteTaken(const ActingRows& rows, const torch::Tensor& action) override {
    taken_.index_copy_(0, rows.slots, action);
  }
  void AddColumns(const ActingRows& rows, const torch::Tensor& action, Acted* acted) override {
    REQUIRE(torch::equal(taken_.index_select(0, rows.slots), action));
    acted->columns["taken"] = action.to(torch::kFloat32);
  }

 private:
  const ActingNets nets_;
  torch::Tensor taken_;
};

struct BlendingAlgorithm : Algorithm {
  BlendingAlgorithm(const BlendingOptions&, Model*) {}
  void Update(const Batches&, UpdateContext*) override {}
};

TEST_CASE("an algorithm's own policy acts by several networks and scalars, with memory by slot and any columns",
          "[unit]") {
  AlgorithmDefinitions definitions("algorithm");
  REQUIRE_OK(
      definitions.Register("blending", Define<BlendingOptions>(
                                           "for tests", {SpaceKind::kDiscrete}, [](Experiment*) {}, BlendingPlan)));
  AlgorithmImplementations implementations("algorithm");
  Experiment experiment;
  experiment.algorithm = "blending";
  experiment.algorithm_options = std::make_shared<BlendingOptions>();
  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &definitions;
  context.environment = testing::DqnEnvironment(2, 3);
  context.lanes = context.all_lanes = 3;
  REQUIRE_CODE(NetworkPolicy::Create(context), absl::StatusCode::kInvalidArgument);
  context.implementations = &implementations;
  REQUIRE_CODE(NetworkPolicy::Create(context), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(
      implementations.Register("blending", ImplementWithPolicy<BlendingAlgorithm, BlendingPolicy, BlendingOptions>()));
  const std::unique_ptr<Policy> policy = testing::ValueOf(NetworkPolicy::Create(context));
  CHECK(DebugString(policy->columns()) == "[numbers: float64[2]]");

  const ExperimentPlan plan = testing::ValueOf(PlanExperiment(experiment, context.environment, definitions));
  const auto model = testing::ValueOf(Model::Create(plan, context.environment, torch::kCPU, 5));
  REQUIRE_OK(policy->LoadWeights(testing::ValueOf(model->Publish())));
  const torch::Tensor observations = torch::randn({2, 2});
  const std::vector<int64_t> slots = {2, 0};
  const void* const shown = observations.data_ptr();
  std::vector<int64_t> actions(2);
  std::vector<uint8_t> first = {0, 0};
  torch::Tensor numbers = torch::zeros({2, 2}, torch::kFloat64);
  std::vector<float> values(4);
  const auto act = [&](ActMode mode) {
    PolicyInput input;
    input.slots = slots;
    input.observations = {&shown, 1};
    input.first = first.data();
    PolicyOutput output;
    output.actions = {actions.data()};
    output.columns = {numbers.data_ptr()};
    output.private_values = values.data();
    REQUIRE_OK(policy->Act(input, mode, &output));
    return actions;
  };
  CHECK(act(ActMode::kExplore) == std::vector<int64_t>{1, 1});
  first = {0, 1};
  CHECK(act(ActMode::kExplore) == std::vector<int64_t>{2, 1});
  CHECK((values[1] == 2 && values[3] == 1));
  CHECK(act(ActMode::kGreedy) == std::vector<int64_t>{0, 0});
  const Observations rows = {observations};
  CHECK(torch::allclose(numbers, model->net("other")(rows).vector("numbers").to(torch::kFloat64) + 0.25));
  CHECK(values[2] == Approx(model->net("net")(rows).value()[1].item<double>()));
}

struct NoisyOptions : NoOptions {
  std::optional<int64_t> rows_per_version;
};

absl::StatusOr<AlgorithmPlan> NoisyPlan(const NoisyOptions& options, const PlanContext&) {
  NetworkNeed need{"net", {{"q", HeadKind::kQ}}};
  need.acts = true;
  AlgorithmPlan algorithm{{need}};
  algorithm.private_columns = {"q_taken", "q_max"};
  algorithm.rows_per_version = options.rows_per_version;
  return algorithm;
}

TEST_CASE("noise in weights is new for each row of an exploring step, or for each version that actors wait for",
          "[unit]") {
  for (const bool waits : {false, true}) {
    NoisyOptions options;
    options.rows_per_version = waits ? std::make_optional<int64_t>(4) : std::nullopt;
    NetworkSpec spec;
    spec.torso[0].noise = 0.5;
    MadePolicy made({Discrete("action", 3)}, 2, options, spec, NoisyPlan);
    const auto value = [&](ActMode mode) {
      const std::vector<int64_t> slots = {0, 1};
      const std::vector<float> observation = {1, 2, 1, 2};
      const void* const shown = observation.data();
      const uint8_t first[] = {0, 0};
      PolicyInput input;
      input.slots = slots;
      input.observations = {&shown, 1};
      input.first = first;
      int64_t actions[2];
      float values[4];
      PolicyOutput output;
      output.actions = {actions};
      output.private_values = values;
      REQUIRE_OK(made.policy->Act(input, mode, &output));
      CHECK((values[1] == values[3]) == (waits || mode == ActMode::kGreedy));
      return values[1];
    };
    const float mean = value(ActMode::kGreedy);
    const float one = value(ActMode::kExplore);
    const float two = value(ActMode::kExplore);
    CHECK(one != mean);
    CHECK((one == two) == waits);
    CHECK(value(ActMode::kGreedy) == mean);
    const float three = value(ActMode::kExplore);
    CHECK(three != one);
    made.Load(3);
    CHECK(value(ActMode::kExplore) != three);
  }
}

}  // namespace
}  // namespace waggle
