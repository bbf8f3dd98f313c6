#include "actor/environments/builtin/catch_duel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tests/support/catch.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

constexpr int64_t kLeft = 0;
constexpr int64_t kStay = 1;
constexpr int64_t kRight = 2;

// A board as an agent sees it.
struct Seen {
  int64_t own = 0;
  int64_t other = 0;
  int64_t ball = 0;
  float height = 0;
  int64_t drift = 0;
  float balls_left = 0;
};

struct Duel {
  explicit Duel(const CatchDuelSettings& settings, uint64_t seed = 1)
      : environment(settings, seed),
        columns(static_cast<size_t>(settings.columns)),
        observations(environment.spec().observations.size(), std::vector<float>(3 * columns + 3)),
        rewards(environment.spec().rewards.size()) {
    for (std::vector<float>& observation : observations) {
      pointers.push_back(observation.data());
    }
    Reset();
  }

  void Reset() { REQUIRE_OK(environment.Reset(pointers)); }
  StepOutcome Step(const std::vector<int64_t>& actions) {
    std::vector<const void*> action_pointers;
    for (const int64_t& action : actions) {
      action_pointers.push_back(&action);
    }
    return testing::ValueOf(environment.Step(action_pointers, pointers, rewards.data()));
  }
  Seen See(size_t agent = 0) const {
    const std::vector<float>& shown = observations[agent];
    std::array<int64_t, 3> places = {-1, -1, -1};
    for (size_t i = 0; i < 3 * columns; ++i) {
      if (shown[i] != 0) {
        REQUIRE(shown[i] == 1);
        REQUIRE(places[i / columns] == -1);
        places[i / columns] = static_cast<int64_t>(i % columns);
      }
    }
    return {places[0],
            places[1],
            places[2],
            shown[3 * columns],
            static_cast<int64_t>(shown[3 * columns + 1]),
            shown[3 * columns + 2]};
  }
  // Starts episodes until the ball has this column and drift.
  void ResetUntil(int64_t ball, int64_t drift) {
    for (int i = 0; (See().ball != ball || See().drift != drift) && i < 1000; ++i) {
      Reset();
    }
    REQUIRE(See().ball == ball);
    REQUIRE(See().drift == drift);
  }

  CatchDuel environment;
  const size_t columns;
  std::vector<std::vector<float>> observations;
  std::vector<float> rewards;
  std::vector<void*> pointers;
};

TEST_CASE("the paddle below a landing ball earns what the other loses", "[unit]") {
  Duel duel({2, 9, 1, "none"});
  duel.ResetUntil(2, 0);
  CHECK(duel.See().own == 2);
  CHECK(duel.See().other == 6);
  CHECK(duel.Step({kStay, kStay}).terminated);
  CHECK(duel.rewards == std::vector<float>{1, -1});
  duel.ResetUntil(7, -1);
  duel.Step({kStay, kStay});
  CHECK(duel.rewards == std::vector<float>{-1, 1});
  duel.ResetUntil(4, 0);
  duel.Step({kRight, kRight});
  CHECK(duel.rewards == std::vector<float>{0, 0});
}

TEST_CASE("each agent sees itself on the left, and what it sees and does is the same for both", "[unit]") {
  Duel duel({4, 9, 3, "none"});
  Rng rng(3);
  for (int step = 0; step < 500; ++step) {
    const Seen left = duel.See(0);
    const Seen right = duel.See(1);
    CHECK(right.own == 8 - left.other);
    CHECK(right.other == 8 - left.own);
    CHECK(right.ball == 8 - left.ball);
    CHECK(right.drift == -left.drift);
    CHECK(right.height == left.height);
    CHECK(right.balls_left == left.balls_left);
    const int64_t action = static_cast<int64_t>(rng.UniformInt(3));
    const bool apart = left.other - left.own > 2;
    if (duel.Step({kStay, action}).terminated) {
      duel.Reset();
    } else if (apart && right.own > 0) {
      CHECK(duel.See(1).own == right.own + action - 1);
    }
  }
}

TEST_CASE("paddles block each other and stop at the walls", "[unit]") {
  Duel duel({100, 5, 1, "none"});
  CHECK(duel.See().own == 1);
  CHECK(duel.See().other == 3);
  const auto step = [&duel](int64_t left, int64_t right) {  // The right agent's action, as the left one sees it.
    duel.Step({left, 2 - right});
    return std::array<int64_t, 2>{duel.See().own, duel.See().other};
  };
  CHECK(step(kRight, kLeft) == std::array<int64_t, 2>{1, 3});  // Into one column.
  CHECK(step(kRight, kStay) == std::array<int64_t, 2>{2, 3});
  CHECK(step(kRight, kLeft) == std::array<int64_t, 2>{2, 3});   // Past each other.
  CHECK(step(kRight, kStay) == std::array<int64_t, 2>{2, 3});   // Into the other.
  CHECK(step(kRight, kRight) == std::array<int64_t, 2>{3, 4});  // One behind the other.
  CHECK(step(kStay, kRight) == std::array<int64_t, 2>{3, 4});   // A wall.
  CHECK(step(kLeft, kLeft) == std::array<int64_t, 2>{2, 3});
}

TEST_CASE("a ball drifts, and walls turn it around", "[unit]") {
  Duel duel({6, 3, 2, "none"});
  duel.ResetUntil(1, 1);
  std::vector<int64_t> columns;
  for (int i = 0; i < 4; ++i) {
    duel.Step({kStay, kStay});
    columns.push_back(duel.See().ball);
  }
  CHECK(columns == std::vector<int64_t>{2, 1, 0, 1});
  CHECK(duel.See().height == Approx(0.2));
  CHECK(duel.See().balls_left == 1);
  CHECK_FALSE(duel.Step({kStay, kStay}).terminated);
  CHECK(duel.See().height == 1);
  CHECK(duel.See().balls_left == 0.5);
}

TEST_CASE("a ball starts in every column and with every drift with the same chance", "[unit]") {
  Duel duel({2, 4, 1, "none"});
  std::map<int64_t, int64_t> counts;
  std::map<int64_t, double> weights;
  for (int i = 0; i < 6000; ++i) {
    const int64_t start = 3 * duel.See().ball + duel.See().drift + 1;
    ++counts[start];
    weights[start] = 1;
    duel.Reset();
  }
  CHECK(weights.size() == 12);
  testing::CheckChiSquare(counts, weights);
}

// The agent's action that moves it as a scripted opponent moves.
int64_t ScriptedAction(const Seen& seen, int64_t columns) {
  const int64_t straight = seen.ball + seen.drift;
  const int64_t ball = straight < 0 || straight >= columns ? seen.ball - seen.drift : straight;
  return ball > seen.own ? kRight : ball < seen.own ? kLeft : kStay;
}

// The mean return of `act` in episodes against the opponent.
template <class Act>
double MeanReturn(const std::string& opponent, const Act& act) {
  CatchDuelSettings settings;
  settings.opponent = opponent;
  Duel duel(settings);
  double sum = 0;
  constexpr int kEpisodes = 2000;
  for (int i = 0; i < kEpisodes; ++i) {
    duel.Reset();
    bool over = false;
    while (!over) {
      over = duel.Step({act(duel.See())}).terminated;
      sum += static_cast<double>(duel.rewards[0]);
    }
  }
  return sum / kEpisodes;
}

TEST_CASE("a scripted opponent is as good as one that moves like it, and beats random moves", "[unit]") {
  const auto scripted = [](const Seen& seen) { return ScriptedAction(seen, 9); };
  Rng rng(5);
  const auto random = [&rng](const Seen&) { return static_cast<int64_t>(rng.UniformInt(3)); };
  // A return has a deviation of about 3, and a mean one of 0.07.
  CHECK(MeanReturn("scripted", scripted) == Approx(0).margin(0.35));
  CHECK(MeanReturn("random", random) == Approx(0).margin(0.35));
  CHECK(MeanReturn("scripted", random) < -5.5);
  CHECK(MeanReturn("random", scripted) > 5.5);
}

TEST_CASE("with an opponent there is one agent, whose spaces are those of either of two", "[unit]") {
  const EnvironmentSpec one = CatchDuel::Spec({6, 9, 10, "scripted"});
  const EnvironmentSpec two = CatchDuel::Spec({});
  REQUIRE(one.observations.size() == 1);
  REQUIRE(two.observations.size() == 2);
  CHECK(one.observations[0].array.name == "observation");
  CHECK(two.observations[1].array.name == "agent_1/observation");
  CHECK(one.observations[0].array.shape == two.observations[1].array.shape);
  CHECK(one.actions[0].num_values == two.actions[0].num_values);
}

}  // namespace
}  // namespace waggle
