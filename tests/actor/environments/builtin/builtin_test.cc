#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/base/tensor/elements.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/environment_conformance.h"

namespace waggle {
namespace {

using testing::ValueOf;

TEST_CASE("every built-in environment passes the conformance suite", "[unit]") {
  const std::vector<std::string> names = BuiltinEnvironments().Names();
  REQUIRE_FALSE(names.empty());
  for (const std::string& name : names) {
    testing::CheckBuiltin(name, "{}");
  }
}

TEST_CASE("built-in environments pass the conformance suite at the ends of their options' ranges", "[unit]") {
  constexpr std::pair<const char*, const char*> kUnusual[] = {
      {"Acrobot-v1", "{dynamics: nips, gravity: 100, torque_noise: 10, max_episode_steps: 50}"},
      {"Acrobot-v1", "{gravity: 0, torque_noise: 10, time_step: 0.001, max_episode_steps: 50}"},
      {"BitFlip-v0", "{bits: 1}"},
      {"BitFlip-v0", "{bits: 64}"},
      {"CartPole-v1",
       "{gravity: 0, cart_mass: 0.01, pole_mass: 1000, pole_half_length: 0.01, force: 10000, time_step: 1, "
       "sutton_barto_reward: true}"},
      {"CartPole-v1",
       "{gravity: 100, cart_mass: 1000, pole_mass: 0.001, pole_half_length: 100, force: 0, time_step: 0.0001, "
       "max_episode_steps: 40}"},
      {"Catch-v0", "{size: 84}"},
      {"Catch-v0", "{rows: 2, columns: 7}"},
      {"CatchDuel-v0", "{opponent: scripted, balls: 1}"},
      {"CatchDuel-v0", "{opponent: random, rows: 2, columns: 2, balls: 30}"},
      {"CatchDuel-v0", "{rows: 4, columns: 15, balls: 3}"},
      {"DeepSea-v0", "{size: 2, randomize_actions: false}"},
      {"DeepSea-v0", "{size: 15, seed_of_map: 5}"},
      {"Docking-v0", "{dock_radius: 2, dock_speed: 3}"},
      {"Docking-v0", "{dock_radius: 0.001, dock_speed: 0.001, max_episode_steps: 5}"},
      {"GridWorld-v0", "{width: 4, height: 3, walls: [1, 5, 6], slip: 0.5, max_episode_steps: 20}"},
      {"GridWorld-v0", "{width: 100, height: 100}"},
      {"MemoryCue-v0", "{length: 1}"},
      {"MemoryCue-v0", "{length: 300, cues: 7}"},
      {"MountainCar-v0", "{force: 1, gravity: 0, goal_speed: 0.07}"},
      {"MountainCar-v0", "{force: 0, gravity: 1, max_episode_steps: 1}"},
      {"MountainCarContinuous-v0", "{power: 1, gravity: 0, goal_speed: 0.07}"},
      {"MountainCarContinuous-v0", "{power: 0, gravity: 1, max_episode_steps: 1}"},
      {"Pendulum-v1", "{gravity: 0, mass: 0.01, length: 0.01, max_torque: 10000, time_step: 1}"},
      {"Pendulum-v1", "{gravity: 100, mass: 1000, length: 100, max_torque: 0.001, time_step: 0.0001}"},
      {"Pendulum-v1", "{max_torque: 0.1, max_episode_steps: 1}"},
      {"Pendulum-v1", "{vector_reward: true}"},
      {"PointMass-v0", "{reward: dense, max_episode_steps: 5}"},
      {"Spread-v0", "{agents: 1, local_ratio: 0}"},
      {"Spread-v0", "{agents: 6, local_ratio: 1, max_episode_steps: 7}"},
  };
  for (const auto& [name, settings] : kUnusual) {
    INFO(name << " " << settings);
    testing::CheckBuiltin(name, settings);
  }
}

TEST_CASE("every built-in environment refuses an unknown option by its name", "[unit]") {
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  for (const std::string& name : definitions.Names()) {
    INFO(name);
    EnvironmentOptions options;
    options.name = name;
    options.options = R"({"no_such_option": 1})";
    const EnvironmentDefinition& definition = *ValueOf(definitions.Find(name));
    for (const absl::Status& refused : {definition.spec(options).status(), definition.create(options, 1).status()}) {
      REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
      CHECK_THAT(std::string(refused.message()), Catch::StartsWith("environment.options: no_such_option: "));
    }
  }
}

TEST_CASE("all options that are out of range are refused at once by their names", "[unit]") {
  EnvironmentOptions options;
  options.options = R"({"gravity": -1, "max_episode_steps": 0, "force": "big"})";
  const absl::Status refused = (*ValueOf(BuiltinEnvironments().Find("CartPole-v1"))).spec(options).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  const std::string message(refused.message());
  for (const char* const key : {"gravity", "max_episode_steps", "force"}) {
    CHECK_THAT(message, Catch::Contains("environment.options: " + std::string(key) + ": "));
  }
}

TEST_CASE("an unknown environment is refused with the nearest known one", "[unit]") {
  const auto found = BuiltinEnvironments().Find("CartPole-v0");
  REQUIRE_CODE(found, absl::StatusCode::kNotFound);
  REQUIRE_THAT(std::string(found.status().message()), Catch::Contains("did you mean \"CartPole-v1\""));
}

// An environment with memory for a row, stepped at random.
class Stepped {
 public:
  Stepped(const EnvironmentDefinition& definition, const EnvironmentOptions& options)
      : environment_(ValueOf(definition.create(options, 1))) {
    for (const SpaceLeaf& leaf : environment_->spec().observations) {
      observations_.emplace_back(static_cast<size_t>(leaf.array.NumBytes()));
      observation_pointers_.push_back(observations_.back().data());
    }
    for (const SpaceLeaf& leaf : environment_->spec().actions) {
      actions_.emplace_back(static_cast<size_t>(leaf.array.NumBytes()));
      action_pointers_.push_back(actions_.back().data());
    }
    rewards_.resize(static_cast<size_t>(NumRewards(environment_->spec().rewards)));
  }

  void Reset() { REQUIRE_OK(environment_->Reset(observation_pointers_)); }
  // Returns true if the episode continues.
  bool Step() {
    absl::StatusOr<StepOutcome> outcome = absl::UnknownError("");
    do {
      for (size_t i = 0; i < actions_.size(); ++i) {
        const SpaceLeaf& leaf = environment_->spec().actions[i];
        const size_t bytes = DTypeSize(leaf.array.dtype);
        for (int64_t element = 0; element < leaf.array.NumElements(); ++element) {
          const double value = leaf.num_values.empty()
                                   ? rng_.Uniform(leaf.Low(element), leaf.High(element))
                                   : static_cast<double>(rng_.UniformInt(static_cast<uint64_t>(leaf.num_values[0])));
          StoreElement(leaf.array.dtype, value, actions_[i].data() + static_cast<size_t>(element) * bytes);
        }
      }
      outcome = environment_->Step(action_pointers_, observation_pointers_, rewards_.data());
    } while (absl::IsInvalidArgument(outcome.status()));  // The mask forbids it.
    return !ValueOf(outcome).terminated && !outcome->truncated;
  }
  Picture Draw() const { return ValueOf(environment_->Draw()); }

 private:
  const std::unique_ptr<Environment> environment_;
  std::vector<std::vector<char>> observations_;
  std::vector<void*> observation_pointers_;
  std::vector<std::vector<char>> actions_;
  std::vector<const void*> action_pointers_;
  std::vector<float> rewards_;
  Rng rng_{7};
};

TEST_CASE("every built-in environment except Null-v1 draws itself, and its pictures follow its steps", "[unit]") {
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  for (const std::string& name : definitions.Names()) {
    INFO(name);
    EnvironmentOptions options;
    options.name = name;
    const EnvironmentDefinition& definition = *ValueOf(definitions.Find(name));
    if (name == "Null-v1") {
      REQUIRE_CODE(ValueOf(definition.create(options, 1))->Draw(), absl::StatusCode::kUnimplemented);
      continue;
    }
    Stepped stepped(definition, options);
    stepped.Reset();
    const Picture first = stepped.Draw();
    CHECK(first.shown_for() > absl::Milliseconds(10));
    CHECK(first.rgb() != std::vector<uint8_t>(first.rgb().size(), first.rgb()[0]));
    CHECK(stepped.Draw().rgb() == first.rgb());
    bool differs = false;
    for (bool goes_on = true; goes_on;) {
      goes_on = stepped.Step();
      const Picture picture = stepped.Draw();
      REQUIRE(picture.width() == first.width());
      REQUIRE(picture.height() == first.height());
      differs = differs || picture.rgb() != first.rgb();
    }
    CHECK(differs);
  }
}

TEST_CASE("environments with unusual settings draw themselves too", "[unit]") {
  const std::vector<std::pair<std::string, std::string>> unusual = {
      {"CartPole-v1", R"({"pole_half_length": 100})"},
      {"BitFlip-v0", R"({"bits": 1})"},
      {"BitFlip-v0", R"({"bits": 64})"},
      {"Catch-v0", R"({"rows": 2, "columns": 100, "size": 100})"},
      {"DeepSea-v0", R"({"size": 100})"},
      {"Docking-v0", R"({"dock_radius": 2})"},
      {"GridWorld-v0", R"({"width": 1, "height": 100})"},
      {"MemoryCue-v0", R"({"cues": 1000})"},
      {"PointMass-v0", R"({"goal_radius": 2})"},
      {"Spread-v0", R"({"agents": 32})"}};
  for (const auto& [name, settings] : unusual) {
    INFO(name << " " << settings);
    EnvironmentOptions options;
    options.name = name;
    options.options = settings;
    Stepped stepped(*ValueOf(BuiltinEnvironments().Find(name)), options);
    stepped.Reset();
    stepped.Step();
    const Picture picture = stepped.Draw();
    CHECK(std::max(picture.width(), picture.height()) == 400);
  }
}

}  // namespace
}  // namespace waggle
