#include "actor/environments/builtin/memory_cue.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/chi_square.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

struct Episode {
  Episode(int64_t length, int64_t cues) : environment({length, cues}, 1), shown(static_cast<size_t>(cues) + 1, 7.0F) {
    Reset();
  }

  void Reset() { REQUIRE_OK(testing::ResetOneLeaf(&environment, shown.data())); }
  testing::OneLeafOutcome Step(int64_t action) {
    return testing::ValueOf(testing::StepOneLeaf(&environment, &action, shown.data()));
  }
  // The cue in a first observation.
  int64_t Cue() const {
    REQUIRE(shown[0] == 1);
    REQUIRE(std::count(shown.begin() + 1, shown.end(), 1.0F) == 1);
    REQUIRE(std::count(shown.begin() + 1, shown.end(), 0.0F) == static_cast<int64_t>(shown.size()) - 2);
    return std::find(shown.begin() + 1, shown.end(), 1.0F) - shown.begin() - 1;
  }

  MemoryCue environment;
  std::vector<float> shown;
};

TEST_CASE("the cue is shown first, and must be chosen last", "[unit]") {
  Episode episode(4, 3);
  for (const bool is_right : {true, false}) {
    episode.Reset();
    const int64_t cue = episode.Cue();
    for (const float left : {0.75F, 0.5F, 0.25F}) {
      const auto outcome = episode.Step(2 - cue);
      CHECK(episode.shown == std::vector<float>{left, 0, 0, 0});
      CHECK(outcome.reward == 0);
      CHECK_FALSE(outcome.terminated);
    }
    const auto outcome = episode.Step(is_right ? cue : (cue + 1) % 3);
    CHECK(episode.shown == std::vector<float>{0, 0, 0, 0});
    CHECK(outcome.reward == (is_right ? 1 : -1));
    CHECK(outcome.terminated);
    CHECK_FALSE(outcome.truncated);
  }
}

TEST_CASE("an episode of one step shows its cue when the cue must be chosen", "[unit]") {
  Episode episode(1, 2);
  const auto outcome = episode.Step(episode.Cue());
  CHECK(outcome.reward == 1);
  CHECK(outcome.terminated);
}

TEST_CASE("every cue is equally likely, even if resets follow each other", "[unit]") {
  Episode episode(5, 4);
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < 4000; ++i) {
    ++counts[episode.Cue()];
    episode.Reset();
  }
  testing::CheckChiSquare(counts, {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
}

}  // namespace
}  // namespace waggle
