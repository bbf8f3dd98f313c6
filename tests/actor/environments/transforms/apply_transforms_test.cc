#include "actor/environments/transforms/apply_transforms.h"

#include <string>
#include <vector>

#include "actor/environments/local_vector_environment.h"
#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ScriptedCopies;
using testing::ValueOf;

EnvironmentSpec ShownAs(std::vector<SpaceLeaf> observations) {
  EnvironmentSpec spec;
  spec.name = "Shown";
  spec.observations = std::move(observations);
  spec.actions = {Box("action", DType::kFloat32, {1}, -1, 1)};
  return spec;
}

absl::StatusOr<EnvironmentSpec> With(const EnvironmentSpec& spec, const std::string& transforms) {
  EnvironmentOptions options;
  options.transforms = transforms;
  return TransformSpec(spec, options);
}

std::vector<int64_t> ShapeWith(std::vector<int64_t> shape, const std::string& transforms) {
  const EnvironmentSpec spec = ShownAs({Box("observation", DType::kUint8, std::move(shape), 0, 255)});
  return ValueOf(With(spec, transforms)).observations[0].array.shape;
}

TEST_CASE("Atari's usual transforms make four grey frames with channels first", "[unit]") {
  const std::string usual = R"({"action_repeat": {"max_pool": 2}}, "resize", "frame_stack",
                               {"reward": {"clip": {"min": -1, "max": 1}}}])";
  CHECK(ShapeWith({210, 160, 3}, R"(["grayscale", )" + usual) == std::vector<int64_t>{4, 84, 84});
  CHECK(ShapeWith({210, 160}, "[" + usual) == std::vector<int64_t>{4, 84, 84});
  CHECK(ShapeWith({210, 160, 3}, "[" + usual) == std::vector<int64_t>{12, 84, 84});
}

TEST_CASE("a stack of frames has the shape that networks accept", "[unit]") {
  CHECK(ShapeWith({84, 84}, R"(["frame_stack"])") == std::vector<int64_t>{4, 84, 84});
  CHECK(ShapeWith({3, 84, 84}, R"(["frame_stack"])") == std::vector<int64_t>{12, 84, 84});
  CHECK(ShapeWith({5}, R"(["frame_stack"])") == std::vector<int64_t>{20});
  CHECK(ShapeWith({}, R"(["frame_stack"])") == std::vector<int64_t>{4});
  const EnvironmentSpec bounded = ShownAs({Box("observation", DType::kFloat32, {2}, {0, -1}, {1, 2})});
  CHECK(ValueOf(With(bounded, R"([{"frame_stack": {"frames": 2}}])")).observations[0] ==
        Box("observation", DType::kFloat32, {4}, {0, -1, 0, -1}, {1, 2, 1, 2}));
}

TEST_CASE("a repeat divides an episode's steps, and a time limit lowers their number", "[unit]") {
  EnvironmentSpec spec = ShownAs({Box("observation", DType::kFloat32, {2})});
  spec.max_episode_steps = 1001;
  CHECK(ValueOf(With(spec, R"(["action_repeat"])")).max_episode_steps == 251);
  CHECK(ValueOf(With(spec, R"(["action_repeat", {"time_limit": {"steps": 300}}])")).max_episode_steps == 251);
  CHECK(ValueOf(With(spec, R"(["action_repeat", {"time_limit": {"steps": 200}}])")).max_episode_steps == 200);
}

TEST_CASE("a copy of the only observation makes two leaves, and only transforms that name it change it", "[unit]") {
  const EnvironmentSpec spec = ShownAs({Box("observation", DType::kUint8, {3, 8, 8}, 0, 255)});
  const EnvironmentSpec copied = ValueOf(With(spec, R"(["copy", "grayscale"])"));
  REQUIRE(copied.observations.size() == 2);
  CHECK(copied.observations[0] == Box("observation/observation", DType::kUint8, {1, 8, 8}, 0, 255));
  CHECK(copied.observations[1] == Box("observation/untransformed", DType::kUint8, {3, 8, 8}, 0, 255));
  const EnvironmentSpec named =
      ValueOf(With(spec, R"(["copy", {"flatten": {"observation": "observation/untransformed"}}])"));
  CHECK(named.observations[0].array.shape == std::vector<int64_t>{3, 8, 8});
  CHECK(named.observations[1].array.shape == std::vector<int64_t>{192});
}

// The error of transforms of a camera and a speed.
std::string Mistake(const std::string& transforms) {
  const EnvironmentSpec spec = ShownAs({Box("observation/camera", DType::kUint8, {210, 160, 3}, 0, 255),
                                        Box("observation/speed", DType::kFloat32, {2})});
  const absl::StatusOr<EnvironmentSpec> made = With(spec, transforms);
  REQUIRE_CODE(made, absl::StatusCode::kInvalidArgument);
  return std::string(made.status().message());
}

TEST_CASE("the error of a transform has its place, its name and its key", "[unit]") {
  constexpr std::pair<const char*, const char*> kMistakes[] = {
      {"[3]", "[0]: "},
      {R"([{"flatten": {}, "resize": {}}])", "[0]: "},
      {R"(["flatten", "framestack"])", "[1]: "},
      {R"([{"resize": 3}])", "[0].resize: "},
      {R"([{"resize": {"height": 0}}])", "[0].resize: height: "},
      {R"([{"resize": {"size": 1}}])", "[0].resize: size: "},
      {R"(["time_limit"])", "[0].time_limit: steps: "},
      {R"([{"scale": {"min": 2}}])", "[0].scale: min: "},
      {R"([{"reward": {"clip": {"min": 2, "max": 1}}}])", "[0].reward: clip.min: "},
      {R"([{"action_repeat": {"steps": 2, "max_pool": 3}}])", "[0].action_repeat: max_pool: "},
      {R"(["no_op_start"])", "[0].no_op_start: "},
      {R"(["copy"])", "[0].copy: observation: "},
      {R"([{"copy": {"observation": "observation/speed", "as": "a//b"}}])", "[0].copy: as: "},
      {R"([{"copy": {"observation": "observation/speed", "as": "camera"}}])", "[0].copy: "},
      // It does not fit the transform before it, or the environment.
      {R"(["grayscale", "grayscale"])", "[1].grayscale: got observation/camera: uint8[1,"},
      {R"(["flatten", {"resize": {"observation": "observation/camera"}}])", "[1].resize: observation: "},
      {R"([{"frame_stack": {"observation": "observation/sonar"}}])", "[0].frame_stack: observation: "},
  };
  for (const auto& [transforms, place] : kMistakes) {
    CHECK_THAT(Mistake(transforms), Catch::StartsWith("environment.transforms" + std::string(place)));
  }
  CHECK_THAT(Mistake(R"([{"resize": {"height": 0}}, "framestack"])"),  // All at once.
             Catch::Contains("transforms[0].resize") && Catch::Contains("transforms[1]"));
}

// An environment whose lanes step together.
class InStep : public LocalVectorEnvironment {
 public:
  using LocalVectorEnvironment::LocalVectorEnvironment;
  bool lanes_step_together() const override { return true; }
};

TEST_CASE("transforms that start episodes in single lanes are refused if lanes step together", "[unit]") {
  const auto apply = [](const std::string& transforms) {
    EnvironmentOptions options;
    options.transforms = transforms;
    return ApplyTransforms(std::make_unique<InStep>(ScriptedCopies(2, 1)), options, /*raw_rewards=*/false, Rng(1))
        .status();
  };
  REQUIRE_OK(apply(R"(["sticky_actions", "frame_stack", "reward"])"));
  for (const std::string name : {R"({"time_limit": {"steps": 3}})", R"("action_repeat")", R"("no_op_start")"}) {
    const absl::Status status = apply(R"(["reward", )" + name + "]");
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::StartsWith("environment.transforms[1]."));
  }
}

TEST_CASE("reward transforms are left out if raw rewards are wanted", "[unit]") {
  EnvironmentOptions options;
  options.transforms = R"([{"reward": {"scale": 0}}, "flatten"])";
  for (const bool raw : {false, true}) {
    const auto environment =
        ValueOf(ApplyTransforms(std::make_unique<LocalVectorEnvironment>(ScriptedCopies(1, 1)), options, raw, Rng(1)));
    REQUIRE_OK(environment->Reset());
    ReadyLanes ready = ValueOf(environment->Recv(1, StopToken()));
    double sum = 0;
    double raw_sum = 0;
    while (ready.step_types[0] != static_cast<int32_t>(StepType::kLast)) {
      const auto* const mask = static_cast<const uint8_t*>(ready.observations[testing::kMask]);
      const int64_t move = mask[0] != 0 ? 0 : 1;
      const uint8_t push[2] = {};
      REQUIRE_OK(environment->Send({0}, {&move, push}));
      ready = ValueOf(environment->Recv(1, StopToken()));
      sum += std::abs(ready.rewards[0][0]) + std::abs(ready.rewards[0][1]);
      raw_sum += ready.raw_rewards == nullptr ? 0 : std::abs(ready.raw_rewards[0]);
    }
    CHECK((sum > 0) == raw);
    CHECK((raw_sum > 0) == !raw);
  }
}

TEST_CASE("an observation outside its space is refused by lane and leaf, not taken for a choice", "[unit]") {
  class Wrong : public testing::ScriptedEnvironment {
   public:
    Wrong() : ScriptedEnvironment(1) {}
    absl::Status Reset(absl::Span<void* const> observations) override {
      const absl::Status status = ScriptedEnvironment::Reset(observations);
      static_cast<int64_t*>(observations[testing::kGear])[1] = 2;
      return status;
    }
  };
  std::vector<std::unique_ptr<Environment>> copies;
  copies.push_back(std::make_unique<Wrong>());
  EnvironmentOptions options;
  options.transforms = R"(["one_hot"])";
  const auto environment =
      ValueOf(ApplyTransforms(std::make_unique<LocalVectorEnvironment>(std::move(copies)), options, false, Rng(1)));
  REQUIRE_OK(environment->Reset());
  const absl::Status status = environment->Recv(1, StopToken()).status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::StartsWith("lane 0: observation/gear: "));
}

}  // namespace
}  // namespace waggle
