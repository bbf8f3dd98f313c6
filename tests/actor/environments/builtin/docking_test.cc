#include "actor/environments/builtin/docking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Run {
  explicit Run(const DockingSettings& settings = {}, uint64_t seed = 1) : environment(settings, seed) {}

  void Start(const Docking::State& state) { environment.ResetTo(state, seen.data()); }
  StepOutcome Step(int64_t thruster, float thrust) {
    return testing::ValueOf(environment.Step({&thruster, &thrust}, {seen.data()}, &reward));
  }

  Docking environment;
  std::array<float, 4> seen{};  // Position and velocity.
  float reward = 7;
};

void CheckSeen(const Run& run, const std::array<double, 4>& expected) {
  for (size_t i = 0; i < 4; ++i) {
    INFO(i);
    CHECK(run.seen[i] == Approx(expected[i]));
  }
}

TEST_CASE("the thrust is along the chosen axis, and nothing slows the craft down", "[unit]") {
  Run run;
  run.Start({0.5, -0.5, 0, 0.25});
  CheckSeen(run, {0.5, -0.5, 0, 0.25});
  run.Step(0, -0.75F);
  CheckSeen(run, {0.35, -0.45, -0.75, 0.25});
  CHECK(run.reward == Approx(-std::hypot(0.35, 0.45)));
  run.Step(1, 1);
  CheckSeen(run, {0.2, -0.2, -0.75, 1.25});
  run.Step(1, 1);
  CheckSeen(run, {0.05, 0.2, -0.75, 2});  // The largest velocity.
}

TEST_CASE("the brake leaves a quarter of both velocities at any thrust", "[unit]") {
  for (const float thrust : {-1.0F, 0.5F}) {
    Run run;
    run.Start({1, 1, 0.8, -0.4});
    run.Step(2, thrust);
    CheckSeen(run, {1.04, 0.98, 0.2, -0.1});
  }
}

TEST_CASE("the edge stops the craft in the direction of the edge", "[unit]") {
  Run run;
  run.Start({1.4, 0, 1, 0.5});
  run.Step(0, 1);
  CheckSeen(run, {1.5, 0.1, 0, 0.5});
}

TEST_CASE("the craft docks only if it is near and slow", "[unit]") {
  Run run;
  run.Start({0.1, 0.1, 0, 0});
  CHECK(run.Step(0, 0).terminated);  // 0.141.
  run.Start({0.11, 0.11, 0, 0});
  CHECK_FALSE(run.Step(0, 0).terminated);
  run.Start({0, 0, 0.31, 0});
  CHECK_FALSE(run.Step(1, 0).terminated);
  run.Start({0, 0, 0.29, 0});
  CHECK(run.Step(1, 0).terminated);
  DockingSettings strict;
  strict.dock_radius = 0.05;
  strict.dock_speed = 0.1;
  Run small(strict);
  small.Start({0.06, 0, 0, 0});
  CHECK_FALSE(small.Step(0, 0).terminated);
  small.Start({0, 0, 0.11, 0});
  CHECK_FALSE(small.Step(1, 0).terminated);
}

TEST_CASE("a choice or a thrust that does not exist is refused", "[unit]") {
  Run run;
  run.Start({0.5, 0, 0, 0});
  for (const auto& [thruster, thrust] :
       std::initializer_list<std::pair<int64_t, float>>{{3, 0.0F}, {-1, 0.0F}, {0, 1.01F}, {0, std::nanf("")}}) {
    CHECK(run.environment.Step({&thruster, &thrust}, {run.seen.data()}, &run.reward).status().code() ==
          absl::StatusCode::kInvalidArgument);
  }
}

// Fires along the axis whose velocity is the furthest from half the distance a step, and brakes near the dock.
double ReturnOfPilot(Run* run) {
  double total = 0;
  REQUIRE_OK(run->environment.Reset({run->seen.data()}));
  for (StepOutcome outcome; !outcome.terminated && !outcome.truncated; total += static_cast<double>(run->reward)) {
    const std::array<double, 2> wanted = {-2.5 * static_cast<double>(run->seen[0]),
                                          -2.5 * static_cast<double>(run->seen[1])};
    const std::array<double, 2> missing = {wanted[0] - static_cast<double>(run->seen[2]),
                                           wanted[1] - static_cast<double>(run->seen[3])};
    const size_t axis = std::abs(missing[0]) > std::abs(missing[1]) ? 0 : 1;
    const bool near = std::hypot(run->seen[0], run->seen[1]) < 0.15F;
    outcome =
        run->Step(near ? 2 : static_cast<int64_t>(axis), static_cast<float>(std::clamp(missing[axis], -1.0, 1.0)));
  }
  return total;
}

TEST_CASE("a simple pilot docks soon, and a random one does not", "[unit]") {
  Run run;
  Rng rng(5);
  constexpr int kEpisodes = 500;
  double piloted = 0, random = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    piloted += ReturnOfPilot(&run) / kEpisodes;
    REQUIRE_OK(run.environment.Reset({run.seen.data()}));
    for (StepOutcome outcome; !outcome.terminated && !outcome.truncated;
         random += static_cast<double>(run.reward) / kEpisodes) {
      const auto thruster = static_cast<int64_t>(rng.UniformInt(3));
      outcome = run.Step(thruster, static_cast<float>(rng.Uniform(-1, 1)));
    }
  }
  INFO(piloted << ", " << random);
  CHECK(piloted > -5);
  CHECK(random < -20);
}

TEST_CASE("the craft starts at rest and uniform in the inner square", "[unit]") {
  Run run;
  constexpr int kEpisodes = 2000;
  std::array<double, 2> sums{};
  float furthest = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    REQUIRE_OK(run.environment.Reset({run.seen.data()}));
    REQUIRE(run.seen[2] == 0);
    REQUIRE(run.seen[3] == 0);
    for (size_t i = 0; i < 2; ++i) {
      sums[i] += static_cast<double>(run.seen[i]);
      furthest = std::max(furthest, std::abs(run.seen[i]));
    }
  }
  CHECK(furthest > 0.99F);
  CHECK(furthest <= 1);
  for (const double sum : sums) {
    CHECK(std::abs(sum / kEpisodes) < 6 * std::sqrt(1.0 / 3 / kEpisodes));  // Six standard errors.
  }
}

}  // namespace
}  // namespace waggle
