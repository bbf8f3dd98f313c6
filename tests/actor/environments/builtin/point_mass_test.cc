#include "actor/environments/builtin/point_mass.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Run {
  explicit Run(const PointMassSettings& settings = {}) : environment(settings, 1) {}

  void Start(const PointMass::State& state) { environment.ResetTo(state, {body.data(), achieved.data(), goal.data()}); }
  StepOutcome Step(float x, float y) {
    const float action[2] = {x, y};
    return testing::ValueOf(environment.Step({action}, {body.data(), achieved.data(), goal.data()}, &reward));
  }

  PointMass environment;
  std::array<float, 4> body{};  // Position and velocity.
  std::array<float, 2> achieved{};
  std::array<float, 2> goal{};
  float reward = 7;
};

PointMassSettings Dense() {
  PointMassSettings settings;
  settings.reward = "dense";
  return settings;
}

TEST_CASE("an action accelerates the point, which drag slows down", "[unit]") {
  Run run;
  run.Start({{0.5, 0, -0.25}, {0, -1, 0.75}});
  CHECK(run.body == std::array<float, 4>{0.5F, 0, 0, -1});
  CHECK(run.achieved == std::array<float, 2>{0.5F, 0});
  CHECK(run.goal == std::array<float, 2>{-0.25F, 0.75F});
  run.Step(1, -0.5F);
  CHECK(run.body[2] == Approx(0.2));
  CHECK(run.body[3] == Approx(-0.9 - 0.1));
  CHECK(run.body[0] == Approx(0.52));
  CHECK(run.body[1] == Approx(-0.1));
  CHECK(run.achieved == std::array<float, 2>{run.body[0], run.body[1]});
  run.Step(1, 0);
  CHECK(run.body[2] == Approx(0.38));
  CHECK(run.body[0] == Approx(0.558));
  CHECK(run.goal == std::array<float, 2>{-0.25F, 0.75F});
}

TEST_CASE("the edge stops the point in the direction of the edge", "[unit]") {
  Run run;
  run.Start({{0.95, 1, 0}, {-0.5, -1, 0}});
  run.Step(1, 1);
  CHECK(run.body[0] == 1);
  CHECK(run.body[2] == 0);
  CHECK(run.body[1] == Approx(-0.5 - 0.07));
  CHECK(run.body[3] == Approx(-0.7));
  run.Step(-1, -1);
  CHECK(run.body[0] == Approx(0.98));
  CHECK(run.body[2] == Approx(-0.2));
}

TEST_CASE("a sparse reward is 0 within the radius of the goal, which is not terminal", "[unit]") {
  Run run;
  run.Start({{0, 0, 0.06}, {0, 0, 0.07}});
  CHECK_FALSE(run.Step(0, 0).terminated);
  CHECK(run.reward == 0);  // sqrt(0.0036 + 0.0049) is 0.092.
  run.Start({{0, 0, 0.08}, {0, 0, 0.07}});
  run.Step(0, 0);
  CHECK(run.reward == -1);  // 0.106.
  PointMassSettings settings;
  settings.goal_radius = 0.11;
  Run wide(settings);
  wide.Start({{0, 0, 0.08}, {0, 0, 0.07}});
  wide.Step(0, 0);
  CHECK(wide.reward == 0);
}

TEST_CASE("a dense reward is minus the distance to the goal", "[unit]") {
  Run run(Dense());
  run.Start({{0.25, 0, 0.55}, {0.5, 0, 0.1}});
  run.Step(0, 0);
  CHECK(run.reward == Approx(-0.5));
}

// An algorithm computes the rewards of goals in hindsight in this way.
TEST_CASE("a reward follows from the goals in its observation", "[unit]") {
  Run sparse;
  Run dense(Dense());
  Rng rng(3);
  int64_t reached = 0;
  for (int episode = 0; episode < 400; ++episode) {
    REQUIRE_OK(sparse.environment.Reset({sparse.body.data(), sparse.achieved.data(), sparse.goal.data()}));
    REQUIRE_OK(dense.environment.Reset({dense.body.data(), dense.achieved.data(), dense.goal.data()}));
    for (int step = 1; step <= 50; ++step) {
      const auto x = static_cast<float>(rng.Uniform(-1, 1));
      const auto y = static_cast<float>(rng.Uniform(-1, 1));
      REQUIRE(sparse.Step(x, y).truncated == (step == 50));
      dense.Step(x, y);
      const double distance = std::hypot(static_cast<double>(sparse.achieved[0]) - static_cast<double>(sparse.goal[0]),
                                         static_cast<double>(sparse.achieved[1]) - static_cast<double>(sparse.goal[1]));
      REQUIRE(sparse.reward == (distance <= 0.1 ? 0 : -1));
      REQUIRE(dense.reward == static_cast<float>(-distance));
      reached += sparse.reward == 0 ? 1 : 0;
    }
  }
  CHECK(reached > 0);
}

TEST_CASE("the point starts at rest; it and its goal are uniform in the square", "[unit]") {
  Run run;
  constexpr int kEpisodes = 2000;
  std::array<double, 4> sums{};
  float furthest = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    REQUIRE_OK(run.environment.Reset({run.body.data(), run.achieved.data(), run.goal.data()}));
    const std::array<float, 4> drawn = {run.body[0], run.body[1], run.goal[0], run.goal[1]};
    for (size_t i = 0; i < drawn.size(); ++i) {
      sums[i] += static_cast<double>(drawn[i]);
      furthest = std::max(furthest, std::abs(drawn[i]));
    }
    REQUIRE(run.body[2] == 0);
    REQUIRE(run.body[3] == 0);
  }
  CHECK(furthest > 0.99F);
  for (const double sum : sums) {
    CHECK(std::abs(sum / kEpisodes) < 6 * std::sqrt(1.0 / 3 / kEpisodes));  // Six standard errors.
  }
}

}  // namespace
}  // namespace waggle
