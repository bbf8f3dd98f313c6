#include "actor/environments/builtin/spread.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// Agents, and the arrays of their leaves.
struct Team {
  explicit Team(const SpreadSettings& settings)
      : environment(settings, 1),
        observations(static_cast<size_t>(settings.agents),
                     std::vector<float>(static_cast<size_t>(4 * settings.agents + 2))),
        rewards(static_cast<size_t>(settings.agents)) {
    for (std::vector<float>& observation : observations) {
      pointers.push_back(observation.data());
    }
  }

  StepOutcome Step(const std::vector<int64_t>& actions) {
    std::vector<const void*> action_pointers;
    for (const int64_t& action : actions) {
      action_pointers.push_back(&action);
    }
    return testing::ValueOf(environment.Step(action_pointers, pointers, rewards.data()));
  }

  Spread environment;
  std::vector<std::vector<float>> observations;
  std::vector<float> rewards;
  std::vector<void*> pointers;
};

struct Followed {
  int64_t trajectories = 0;
  int64_t collisions = 0;  // Steps in which agents overlap.
  double largest_error = 0;
};

double Read(std::ifstream* file) {
  double number = 0;
  REQUIRE(*file >> number);
  return number;
}

void FollowSteps(std::ifstream* file, int64_t steps, Team* team, Followed* followed) {
  std::vector<int64_t> actions(team->rewards.size());
  for (int64_t t = 1; t <= steps; ++t) {
    INFO("step " << t);
    for (int64_t& action : actions) {
      action = static_cast<int64_t>(Read(file));
    }
    const StepOutcome outcome = team->Step(actions);
    for (const float reward : team->rewards) {
      REQUIRE(reward == Approx(Read(file)).margin(1e-6).epsilon(0));
    }
    REQUIRE(outcome.truncated == (Read(file) == 1));
    REQUIRE_FALSE(outcome.terminated);
    bool collide = false;
    for (const std::vector<float>& observation : team->observations) {
      for (const float number : observation) {
        const double error = std::abs(static_cast<double>(number) - Read(file));
        REQUIRE(error <= 1e-6);
        followed->largest_error = std::max(followed->largest_error, error);
      }
      for (size_t other = observation.size() - 2 * (team->rewards.size() - 1); other < observation.size(); other += 2) {
        collide = collide || std::hypot(observation[other], observation[other + 1]) < 0.3F;
      }
    }
    followed->collisions += collide ? 1 : 0;
  }
}

// Follows a file of tests/golden/record_spread.py.
Followed FollowFile(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  Followed followed;
  std::string keyword;
  std::string name;
  while (file >> keyword >> name) {
    INFO(name);
    REQUIRE(keyword == "trajectory");
    const auto steps = static_cast<int64_t>(Read(&file));
    SpreadSettings settings;
    settings.agents = static_cast<int64_t>(Read(&file));
    settings.local_ratio = Read(&file);
    Team team(settings);
    const std::vector<Spread::Point> points(static_cast<size_t>(settings.agents));
    Spread::State start{points, points, points};
    for (std::vector<Spread::Point>* part : {&start.positions, &start.velocities, &start.landmarks}) {
      for (Spread::Point& point : *part) {
        point.x = Read(&file);
        point.y = Read(&file);
      }
    }
    team.environment.ResetTo(start, team.pointers);
    FollowSteps(&file, steps, &team, &followed);
    ++followed.trajectories;
  }
  return followed;
}

TEST_CASE("Spread follows the recorded trajectories of mpe2 to 1e-6", "[unit]") {
  const Followed followed = FollowFile(WAGGLE_GOLDEN_DIR "/spread_v0.txt");
  CHECK(followed.trajectories == 7);
  CHECK(followed.collisions > 10);
  if (const char* const folder = std::getenv("WAGGLE_MORE_TRAJECTORIES"); folder != nullptr) {
    const Followed more = FollowFile(std::string(folder) + "/spread_v0.txt");
    WARN(more.trajectories << " trajectories, " << more.collisions << " steps with a collision; largest error "
                           << more.largest_error);
    CHECK(more.trajectories > 0);
  }
}

TEST_CASE(
    "an agent's observation has its velocity and position, and the relative positions of landmarks and other agents",
    "[unit]") {
  Team team({});
  team.environment.ResetTo({{{0, 0.5}, {-1, 0}}, {{2, 0}, {0, -4}}, {{1, 1}, {0, 0}}}, team.pointers);
  CHECK(team.observations[0] == std::vector<float>{2, 0, 0, 0.5, 1, 0.5, 0, -0.5, -1, -0.5});
  CHECK(team.observations[1] == std::vector<float>{0, -4, -1, 0, 2, 1, 1, 0, 1, 0.5});
  team.Step({0, 2});  // A push to the right is a force of 5, and a quarter of the velocity is lost in a step.
  CHECK(team.observations[0] == std::vector<float>{1.5F, 0, 0.2F, 0.5F, 0.8F, 0.5F, -0.2F, -0.5F, -1.2F, -0.9F});
  CHECK(team.observations[1] == std::vector<float>{0.5F, -3, -1, -0.4F, 2, 1.4F, 1, 0.4F, 1.2F, 0.9F});
  const double distances = std::hypot(0.8, 0.5) + std::hypot(0.2, 0.5);
  CHECK(team.rewards[0] == Approx(-0.5 * distances));
  CHECK(team.rewards[1] == team.rewards[0]);
}

TEST_CASE("agents at one position are not pushed, and collide", "[unit]") {
  SpreadSettings settings;
  settings.local_ratio = 1;
  Team team(settings);
  const std::vector<Spread::Point> origin(2);
  team.environment.ResetTo({origin, origin, origin}, team.pointers);
  team.Step({0, 0});
  CHECK(team.observations[0] == std::vector<float>(10, 0));
  CHECK(team.rewards == std::vector<float>{-1, -1});
}

// Pushes an agent to the place at this distance from it, so that it comes to rest there.
int64_t PushTo(float x, float y, float speed_x, float speed_y) {
  constexpr double kPushes[5][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  int64_t best = 0;
  double least = 1e9;
  for (int64_t action = 0; action < 5; ++action) {
    // A step moves by a tenth of the speed; then a quarter of it is lost, and a push adds 0.5.
    const auto left = [&](double distance, double speed, double push) {
      return distance - 0.1 * speed - 0.4 * (0.75 * speed + 0.5 * push);
    };
    const double miss = std::hypot(left(x, speed_x, kPushes[action][0]), left(y, speed_y, kPushes[action][1]));
    best = miss < least ? action : best;
    least = std::min(least, miss);
  }
  return best;
}

// The mean return of a team of two over many episodes. `act` gives an agent's action for both observations.
template <class Act>
double ReturnOf(const Act& act) {
  constexpr int kEpisodes = 4000;
  Team team{SpreadSettings()};
  double total = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    REQUIRE_OK(team.environment.Reset(team.pointers));
    for (int step = 0; step < 25; ++step) {
      team.Step({act(team.observations, 0), act(team.observations, 1)});
      total += static_cast<double>(team.rewards[0] + team.rewards[1]) / 2;
    }
  }
  return total / kEpisodes;
}

// docs/algorithms/several_agents.md names both ends. The first one's standard error is 0.12.
TEST_CASE("random agents earn -21.2 in Spread-v0, and a team in which each takes a landmark -6.6", "[unit]") {
  Rng rng(1);
  CHECK(ReturnOf([&rng](const auto&, size_t) { return static_cast<int64_t>(rng.UniformInt(5)); }) ==
        Approx(-21.2).margin(0.5));
  // An observation: velocity, position, both landmarks and the other agent, relative to it.
  CHECK(ReturnOf([](const std::vector<std::vector<float>>& seen, size_t agent) {
          const auto distance = [&seen](size_t who, size_t landmark) {
            return std::hypot(seen[who][4 + 2 * landmark], seen[who][5 + 2 * landmark]);
          };
          const bool straight = distance(0, 0) + distance(1, 1) <= distance(0, 1) + distance(1, 0);
          const size_t landmark = straight ? agent : 1 - agent;
          const std::vector<float>& own = seen[agent];
          return PushTo(own[4 + 2 * landmark], own[5 + 2 * landmark], own[0], own[1]);
        }) == Approx(-6.6).margin(0.2));
}

}  // namespace
}  // namespace waggle
