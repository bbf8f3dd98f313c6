#include "actor/transforms/apply_transforms.h"

#include <string>
#include <vector>

#include "actor/local_vector_environment.h"
#include "tests/actor/transforms/scripted_environment.h"
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
  using Catch::StartsWith;
  CHECK_THAT(Mistake("[3]"), StartsWith("environment.transforms[0]: got 3; wanted"));
  CHECK_THAT(Mistake(R"([{"flatten": {}, "resize": {}}])"), StartsWith("environment.transforms[0]: got"));
  CHECK_THAT(Mistake(R"(["flatten", "framestack"])"), StartsWith("environment.transforms[1]: "));
  CHECK_THAT(Mistake(R"(["framestack"])"), Catch::Contains("did you mean") && Catch::Contains("frame_stack"));
  CHECK_THAT(Mistake(R"([{"resize": 3}])"), StartsWith("environment.transforms[0].resize: got 3; wanted"));
  CHECK_THAT(Mistake(R"([{"resize": {"height": 0}}])"), StartsWith("environment.transforms[0].resize: height: got"));
  CHECK_THAT(Mistake(R"([{"resize": {"size": 1}}])"), StartsWith("environment.transforms[0].resize: size: unknown"));
  CHECK_THAT(Mistake(R"(["time_limit"])"), StartsWith("environment.transforms[0].time_limit: steps: is missing"));
  CHECK_THAT(Mistake(R"([{"scale": {"min": 2}}])"), StartsWith("environment.transforms[0].scale: min: got 2"));
  CHECK_THAT(Mistake(R"([{"reward": {"clip": {"min": 2, "max": 1}}}])"),
             Catch::Contains("environment.transforms[0].reward: clip.min: got 2"));
  CHECK_THAT(Mistake(R"([{"action_repeat": {"steps": 2, "max_pool": 3}}])"),
             StartsWith("environment.transforms[0].action_repeat: max_pool: got 3"));
  CHECK_THAT(Mistake(R"(["no_op_start"])"), StartsWith("environment.transforms[0].no_op_start: got"));
  CHECK_THAT(Mistake(R"(["copy"])"), StartsWith("environment.transforms[0].copy: observation: is missing"));
  CHECK_THAT(Mistake(R"([{"copy": {"observation": "observation/speed", "as": "a//b"}}])"),
             StartsWith("environment.transforms[0].copy: as: got a//b"));
  CHECK_THAT(Mistake(R"([{"copy": {"observation": "observation/speed", "as": "camera"}}])"),
             StartsWith("environment.transforms[0].copy: "));
}

TEST_CASE("all mistakes in settings are reported at once", "[unit]") {
  const std::string mistake = Mistake(R"([{"resize": {"height": 0}}, "framestack"])");
  CHECK_THAT(mistake, Catch::Contains("transforms[0].resize") && Catch::Contains("transforms[1]"));
}

TEST_CASE("a transform that does not fit the one before it is refused with its input and what it wants", "[unit]") {
  CHECK_THAT(Mistake(R"(["grayscale", "grayscale"])"),
             Catch::StartsWith("environment.transforms[1].grayscale: got observation/camera: uint8[1,"));
  CHECK_THAT(Mistake(R"(["flatten", {"resize": {"observation": "observation/camera"}}])"),
             Catch::StartsWith("environment.transforms[1].resize: observation: got"));
  CHECK_THAT(
      Mistake(R"([{"frame_stack": {"observation": "observation/sonar"}}])"),
      Catch::StartsWith("environment.transforms[0].frame_stack: observation: got observation/sonar; wanted one of"));
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
  CHECK_THAT(std::string(status.message()), Catch::StartsWith("lane 0: observation/gear: got 2"));
}

}  // namespace
}  // namespace waggle
