#include <map>

#include "actor/acting/random_actions.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/environments/transforms/apply_transforms.h"
#include "actor/environments/transforms/transform.h"
#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/support/catch.h"
#include "tests/support/counted_memory.h"

namespace waggle {
namespace {

using testing::ScriptedCopies;
using testing::ValueOf;

constexpr int64_t kLanes = 4;

// The settings of transforms that require some.
const std::map<std::string, std::string>& Settings() {
  static const auto* const settings =
      new std::map<std::string, std::string>{{"copy", R"({"observation": "observation/camera"})"},
                                             {"time_limit", R"({"steps": 4})"},
                                             {"action_repeat", R"({"steps": 3, "max_pool": 2})"},
                                             {"reward", R"({"scale": 0.5})"}};
  return *settings;
}

EnvironmentOptions OptionsOf(const std::string& name) {
  const auto found = Settings().find(name);
  EnvironmentOptions options;
  options.transforms = R"([{")" + name + R"(": )" + (found == Settings().end() ? "{}" : found->second) + "}]";
  return options;
}

std::unique_ptr<VectorEnvironment> Transformed(const std::string& name, uint64_t seed) {
  return ValueOf(ApplyTransforms(std::make_unique<LocalVectorEnvironment>(ScriptedCopies(kLanes, 3)), OptionsOf(name),
                                 /*raw_rewards=*/false, Rng(seed)));
}

// All rows of some steps of random actions.
std::string Play(const std::string& name, uint64_t seed) {
  const auto environment = Transformed(name, seed);
  const EnvironmentSpec& spec = environment->spec();
  RandomActions actions(spec, kLanes, Rng(5));
  std::string shown;
  REQUIRE_OK(environment->Reset());
  for (int step = 0; step < 60; ++step) {
    const ReadyLanes ready = ValueOf(environment->Recv(kLanes, StopToken()));
    REQUIRE(std::vector<int64_t>(ready.lanes.begin(), ready.lanes.end()) == std::vector<int64_t>{0, 1, 2, 3});
    const auto add = [&shown](const void* data, size_t bytes) { shown.append(static_cast<const char*>(data), bytes); };
    for (size_t leaf = 0; leaf < spec.observations.size(); ++leaf) {
      add(ready.observations[leaf], static_cast<size_t>(kLanes * spec.observations[leaf].array.NumBytes()));
    }
    add(ready.step_types, kLanes * sizeof(int32_t));
    add(ready.rewards[0], 2 * kLanes * sizeof(float));
    add(ready.discounts, kLanes * sizeof(float));
    REQUIRE_OK(environment->Send(ready.lanes, actions.Draw(ready)));
  }
  return shown;
}

TEST_CASE("every transform makes a valid spec, and the same rows from the same seed, in the order of lanes", "[unit]") {
  for (const std::string& name : BuiltinTransforms().Names()) {
    CAPTURE(name);
    const auto environment = Transformed(name, 1);
    REQUIRE_OK(environment->spec().Validate());
    CHECK(environment->lanes() == kLanes);
    CHECK(environment->spec() == ValueOf(TransformSpec(ScriptedCopies(1, 1)[0]->spec(), OptionsOf(name))));
    CHECK(Play(name, 1) == Play(name, 1));
    const bool draws = name == "sticky_actions" || name == "no_op_start" || name == "random_goal";
    CHECK((Play(name, 1) != Play(name, 2)) == draws);
    CHECK_FALSE(ValueOf(BuiltinTransforms().Find(name))->description.empty());
  }
}

TEST_CASE("no transform takes memory for a step once it has seen some", "[unit]") {
  for (const std::string& name : BuiltinTransforms().Names()) {
    CAPTURE(name);
    const auto environment = Transformed(name, 1);
    RandomActions actions(environment->spec(), kLanes, Rng(5));
    REQUIRE_OK(environment->Reset());
    bool all_went_well = true;
    const StopToken stop;
    const auto step = [&] {
      const absl::StatusOr<ReadyLanes> ready = environment->Recv(kLanes, stop);
      all_went_well = all_went_well && ready.ok() && environment->Send(ready->lanes, actions.Draw(*ready)).ok();
    };
    for (int i = 0; i < 50; ++i) {
      step();
    }
    REQUIRE(all_went_well);
    const int64_t before = testing::MemoryTaken();
    for (int i = 0; i < 50; ++i) {
      step();
    }
    CHECK(testing::MemoryTaken() == before);
    CHECK(all_went_well);
  }
}

}  // namespace
}  // namespace waggle
