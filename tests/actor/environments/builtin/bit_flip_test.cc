#include "actor/environments/builtin/bit_flip.h"

#include <map>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

using Bits = std::vector<uint8_t>;

struct Episode {
  explicit Episode(int64_t bits, uint64_t seed = 1)
      : environment({bits}, seed), shown(3, Bits(static_cast<size_t>(bits), 7)) {
    Reset();
  }

  void Reset() { REQUIRE_OK(environment.Reset(Pointers())); }
  StepOutcome Flip(int64_t bit) { return testing::ValueOf(environment.Step({&bit}, Pointers(), &reward)); }
  std::vector<void*> Pointers() { return {shown[0].data(), shown[1].data(), shown[2].data()}; }
  // The bits that differ from the goal.
  std::vector<int64_t> WrongBits() const {
    std::vector<int64_t> wrong;
    for (size_t i = 0; i < shown[0].size(); ++i) {
      if (shown[0][i] != shown[2][i]) {
        wrong.push_back(static_cast<int64_t>(i));
      }
    }
    return wrong;
  }

  BitFlip environment;
  std::vector<Bits> shown;  // The observation, the achieved goal and the desired goal.
  float reward = 7;
};

TEST_CASE("flipping all bits that differ from the goal ends an episode with the only reward of 0", "[unit]") {
  Episode episode(20);
  const std::vector<int64_t> wrong = episode.WrongBits();
  Bits expected = episode.shown[0];
  const Bits goal = episode.shown[2];
  REQUIRE(wrong.size() > 1);
  for (const int64_t bit : wrong) {
    const StepOutcome outcome = episode.Flip(bit);
    expected[static_cast<size_t>(bit)] ^= 1;
    CHECK(episode.shown == std::vector<Bits>{expected, expected, goal});
    CHECK(outcome.terminated == (bit == wrong.back()));
    CHECK_FALSE(outcome.truncated);
    CHECK(episode.reward == (bit == wrong.back() ? 0 : -1));
  }
  CHECK(expected == goal);
}

TEST_CASE("an episode that does not reach its goal is truncated after as many steps as there are bits", "[unit]") {
  Episode episode(5);
  while (episode.WrongBits().size() < 2) {
    episode.Reset();
  }
  for (int step = 1; step <= 5; ++step) {
    const StepOutcome outcome = episode.Flip(3);  // And back.
    CHECK(episode.reward == -1);
    CHECK_FALSE(outcome.terminated);
    CHECK(outcome.truncated == (step == 5));
  }
}

TEST_CASE("bits and goals are drawn uniformly from all pairs that differ", "[unit]") {
  Episode episode(2);
  std::map<int64_t, int64_t> counts;
  std::map<int64_t, double> weights;
  for (int64_t pair = 0; pair < 16; ++pair) {
    if (pair / 4 != pair % 4) {
      weights[pair] = 1;
    }
  }
  for (int i = 0; i < 6000; ++i) {
    const Bits& bits = episode.shown[0];
    const Bits& goal = episode.shown[2];
    ++counts[bits[0] + 2 * bits[1] + 4 * goal[0] + 8 * goal[1]];
    episode.Reset();
  }
  testing::CheckChiSquare(counts, weights);
}

}  // namespace
}  // namespace waggle
