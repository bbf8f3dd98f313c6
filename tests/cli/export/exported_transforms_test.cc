#include "cli/export/exported_transforms.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

EnvironmentSpec Camera() {
  EnvironmentSpec spec;
  spec.name = "Camera";
  spec.observations = {Box("observation", DType::kUint8, {8, 6, 3}, 0, 255)};
  spec.actions = {Discrete("action", 2)};
  return spec;
}

PolicySource Divided(const std::string& transforms) {
  EnvironmentOptions options;
  options.transforms = transforms;
  PolicySource source;
  REQUIRE_OK(DivideTransforms(options, Camera(), &source));
  return source;
}

std::vector<std::string> StepsOf(const PolicySource& source) {
  std::vector<std::string> names;
  for (const ObservationStep& step : source.steps) {
    names.push_back(step.transform);
  }
  return names;
}

using Names = std::vector<std::string>;
using Shape = std::vector<int64_t>;

TEST_CASE("Transforms of single rows are steps of the policy, and those of rewards and time are the caller's",
          "[unit]") {
  const PolicySource source =
      Divided(R"(["grayscale", {"reward": {"scale": 2}}, "flatten", {"time_limit": {"steps": 9}}])");
  CHECK(StepsOf(source) == Names{"grayscale", "flatten"});
  CHECK(source.transforms_json == R"([{"reward":{"scale":2}},{"time_limit":{"steps":9}}])");
  CHECK(source.Inputs()[0].array.shape == Shape{8, 6, 3});
  CHECK(source.environment.observations[0].array.shape == Shape{48});
}

TEST_CASE("A frame stack and the transforms before it are left to the caller", "[unit]") {
  const PolicySource source =
      Divided(R"(["grayscale", {"frame_stack": {"frames": 2}}, {"scale": {"min": 0, "max": 4}}])");
  CHECK(StepsOf(source) == Names{"scale"});
  CHECK(source.steps[0].min == 0);
  CHECK(source.steps[0].max == 4);
  CHECK(source.transforms_json == R"(["grayscale",{"frame_stack":{"frames":2}}])");
  CHECK(source.Inputs()[0].array.shape == Shape{2, 8, 6});
  CHECK(source.Inputs()[0].array.dtype == DType::kUint8);
}

TEST_CASE("A repeat only changes observations if it pools them", "[unit]") {
  CHECK(StepsOf(Divided(R"(["grayscale", {"action_repeat": {"steps": 4}}])")) == Names{"grayscale"});
  CHECK(StepsOf(Divided(R"(["grayscale", {"action_repeat": {"steps": 4, "max_pool": 2}}])")).empty());
}

TEST_CASE("A copy knows its source, and without transforms the inputs are the environment's own", "[unit]") {
  const PolicySource source = Divided(R"(["copy", {"flatten": {"observation": "observation/observation"}}])");
  CHECK(StepsOf(source) == Names{"copy", "flatten"});
  CHECK(source.steps[0].copied == 0);
  CHECK(source.environment.observations.size() == 2);
  const PolicySource plain = Divided("[]");
  CHECK(plain.steps.empty());
  CHECK(plain.Inputs() == Camera().observations);
}

TEST_CASE("Transforms that do not fit the environment are refused", "[unit]") {
  EnvironmentOptions options;
  options.transforms = R"(["one_hot"])";
  PolicySource source;
  REQUIRE_CODE(DivideTransforms(options, Camera(), &source), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle::testing
