#include "param_server/gradients/stepped_parameters.h"

#include <limits>

#include "tests/param_server/gradients/gradient_fixture.h"

namespace waggle::testing {
namespace {

OptimizerOptions Options(const std::string& type) {
  OptimizerOptions options;
  options.type = type;
  options.learning_rate = Schedule::Linear(0.1, 0, Schedule::Clock::kLearnerSteps, 10);
  options.gradient_clip_norm = 2;
  return options;
}

TEST_CASE("each group is stepped by its own optimizer, and weights without a group stay", "[unit]") {
  const auto parameters =
      ValueOf(SteppedParameters::Create(Weights({1, 1, 1, 7}), {{{"a", 1}, PlainSgd()}, {{"b", 2}, Options("sgd")}}));
  const std::vector<float> gradient = {1, 3, 4};
  Progress progress;
  progress.learner_steps = 5;
  REQUIRE_OK(parameters->Step(gradient.data(), 1, progress));
  const std::vector<float> values = ValuesOf(parameters->Snapshot());
  CHECK(values[0] == 0);
  // Norm 5, clipped to 2; half the learning rate.
  CHECK(values[1] == Approx(1 - 0.05 * 3 * 2 / 5).epsilon(1e-5));
  CHECK(values[2] == Approx(1 - 0.05 * 4 * 2 / 5).epsilon(1e-5));
  CHECK(values[3] == 7);
  CHECK(parameters->gradient_norm() == Approx(std::sqrt(26.0)));
}

TEST_CASE("parameters take another learning rate and clipping", "[unit]") {
  const auto parameters = ValueOf(SteppedParameters::Create(Weights({1, 1}), {{{"b", 2}, Options("sgd")}}));
  OptimizerOptions other = Options("sgd");
  other.learning_rate = 0.5;
  other.gradient_clip_norm = 1;
  parameters->SetRates(other);
  const std::vector<float> gradient = {3, 4};
  REQUIRE_OK(parameters->Step(gradient.data(), 1, {}));
  const std::vector<float> values = ValuesOf(parameters->Snapshot());
  CHECK(values[0] == Approx(1 - 0.5 * 3 / 5).epsilon(1e-5));
  CHECK(values[1] == Approx(1 - 0.5 * 4 / 5).epsilon(1e-5));
}

TEST_CASE("a gradient that is not finite in one group changes no other", "[unit]") {
  const auto parameters =
      ValueOf(SteppedParameters::Create(Weights({1, 1}), {{{"a", 1}, PlainSgd()}, {{"b", 1}, PlainSgd()}}));
  const std::vector<float> gradient = {1, std::numeric_limits<float>::infinity()};
  REQUIRE_CODE(parameters->Step(gradient.data(), 1, {}), absl::StatusCode::kInvalidArgument);
  CHECK(ValuesOf(parameters->Snapshot()) == std::vector<float>{1, 1});
}

TEST_CASE("an optimizer that goes on from a checkpoint takes exactly the same steps", "[unit]") {
  for (const char* type : {"sgd", "rmsprop", "adam", "adamw"}) {
    const auto make = [type] { return Stepped({0.5F, -0.25F, 2}, Options(type)); };
    const auto step = [](SteppedParameters* parameters, int64_t number) {
      const float base = static_cast<float>(number + 1);
      const std::vector<float> gradient = {0.3F * base, -0.7F, 1 / base};
      Progress progress;
      progress.learner_steps = number;
      REQUIRE_OK(parameters->Step(gradient.data(), 0.5, progress));
    };
    const auto whole = make();
    const auto first = make();
    const auto second = make();
    CheckpointContents contents;
    for (int64_t i = 0; i < 8; ++i) {
      step(whole.get(), i);
      if (i < 4) {
        step(first.get(), i);
        continue;
      }
      if (i == 4) {
        first->Save(&contents);
        REQUIRE_OK(contents.Validate());
        REQUIRE_OK(second->Restore(contents));
      }
      step(second.get(), i);
    }
    INFO(type);
    CHECK(ValuesOf(second->Snapshot()) == ValuesOf(whole->Snapshot()));
  }
}

TEST_CASE("a checkpoint of other parameters or of another optimizer is refused and changes nothing", "[unit]") {
  CheckpointContents contents;
  Stepped({1, 2, 3}, Options("adam"))->Save(&contents);
  const auto other = Stepped({5, 6}, Options("adam"));
  REQUIRE_CODE(other->Restore(contents), absl::StatusCode::kFailedPrecondition);
  CHECK(ValuesOf(other->Snapshot()) == std::vector<float>{5, 6});
  const auto sgd = Stepped({5, 6, 7}, Options("sgd"));
  REQUIRE_CODE(sgd->Restore(contents), absl::StatusCode::kFailedPrecondition);
  contents.arrays.pop_back();
  REQUIRE_CODE(Stepped({5, 6, 7}, Options("adam"))->Restore(contents), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("weights that cannot be stepped are refused", "[unit]") {
  const auto create = [](const ModelSnapshot& weights, int64_t elements) {
    return SteppedParameters::Create(weights, {{{"a", elements}, PlainSgd()}});
  };
  REQUIRE_CODE(create(Weights({1, 2}), 3), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(create(Weights({1, NAN}), 2), absl::StatusCode::kInvalidArgument);
  ModelSnapshot integers = Weights({1, 2});
  integers.tensors[0].dtype = DType::kInt32;
  REQUIRE_CODE(create(integers, 2), absl::StatusCode::kInvalidArgument);
  ModelSnapshot cut = Weights({1, 2});
  cut.tensors[0].shape = {3};
  REQUIRE_CODE(create(cut, 2), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle::testing
