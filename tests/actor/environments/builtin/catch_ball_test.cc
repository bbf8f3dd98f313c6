#include "actor/environments/builtin/catch_ball.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/chi_square.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

constexpr int64_t kLeft = 0;
constexpr int64_t kStay = 1;
constexpr int64_t kRight = 2;

struct Game {
  explicit Game(const CatchSettings& settings)
      : environment(settings, 1),
        width(environment.spec().observations[0].array.shape[2]),
        pixels(static_cast<size_t>(environment.spec().observations[0].array.NumElements()), 7) {
    Reset();
  }

  void Reset() { REQUIRE_OK(testing::ResetOneLeaf(&environment, pixels.data())); }
  testing::OneLeafOutcome Step(int64_t action) {
    return testing::ValueOf(testing::StepOneLeaf(&environment, &action, pixels.data()));
  }
  // A line for each row of pixels: "#" is 255, "." is 0.
  std::string Picture() const {
    std::string picture;
    for (size_t i = 0; i < pixels.size(); ++i) {
      REQUIRE((pixels[i] == 0 || pixels[i] == 255));
      picture += pixels[i] == 255 ? '#' : '.';
      picture += static_cast<int64_t>(i + 1) % width == 0 ? "\n" : "";
    }
    return picture;
  }
  // The column of the first row's only white pixel.
  int64_t Ball() const { return std::find(pixels.begin(), pixels.end(), 255) - pixels.begin(); }
  void ResetUntilBallIsAt(int64_t pixel) {
    for (int i = 0; Ball() != pixel && i < 1000; ++i) {
      Reset();
    }
    REQUIRE(Ball() == pixel);
  }

  CatchBall environment;
  const int64_t width;
  std::vector<uint8_t> pixels;
};

TEST_CASE("a ball that lands on the paddle is worth 1", "[unit]") {
  Game game({3, 4, {}});
  game.ResetUntilBallIsAt(0);
  CHECK(game.Picture() == "#...\n....\n..#.\n");
  auto outcome = game.Step(kLeft);
  CHECK(game.Picture() == "....\n#...\n.#..\n");
  CHECK(outcome.reward == 0);
  CHECK_FALSE(outcome.terminated);
  outcome = game.Step(kLeft);
  CHECK(game.Picture() == "....\n....\n#...\n");
  CHECK(outcome.reward == 1);
  CHECK(outcome.terminated);
  CHECK_FALSE(outcome.truncated);
}

TEST_CASE("a ball that lands beside the paddle costs 1", "[unit]") {
  Game game({3, 4, {}});
  game.ResetUntilBallIsAt(1);
  CHECK(game.Step(kStay).reward == 0);
  const auto outcome = game.Step(kStay);
  CHECK(game.Picture() == "....\n....\n.##.\n");
  CHECK(outcome.reward == -1);
  CHECK(outcome.terminated);
}

TEST_CASE("the paddle stops at the edges", "[unit]") {
  Game game({9, 2, {}});
  game.Step(kRight);
  CHECK(game.Picture().substr(8 * 3) == ".#\n");
  game.Step(kLeft);
  game.Step(kLeft);
  CHECK(game.Picture().substr(8 * 3) == "#.\n");
}

TEST_CASE("the ball starts in every column with the same chance", "[unit]") {
  Game game({2, 4, {}});
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < 4000; ++i) {
    ++counts[game.Ball()];
    game.Reset();
  }
  testing::CheckChiSquare(counts, {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
}

TEST_CASE("a larger picture shows each cell as a block", "[unit]") {
  Game small({2, 3, 5});  // Rows begin at pixels 0 and 2, columns at 0, 1 and 3.
  small.ResetUntilBallIsAt(3);
  CHECK(small.Picture() == "...##\n...##\n.##..\n.##..\n.##..\n");

  Game game({10, 10, 84});
  game.ResetUntilBallIsAt(16);  // Column 2 of 0, 8, 16, 25, 33, 42, 50, 58, 67, 75.
  game.Step(kRight);
  const auto is_in = [](int64_t pixel, int64_t first, int64_t end) { return pixel >= first && pixel < end; };
  std::vector<uint8_t> expected;
  for (int64_t y = 0; y < 84; ++y) {
    for (int64_t x = 0; x < 84; ++x) {
      const bool ball = is_in(y, 8, 16) && is_in(x, 16, 25);
      const bool paddle = is_in(y, 75, 84) && is_in(x, 50, 58);
      expected.push_back(ball || paddle ? 255 : 0);
    }
  }
  CHECK(game.pixels == expected);
  CHECK(game.environment.spec().observations[0].array.shape == std::vector<int64_t>{1, 84, 84});
}

TEST_CASE("a picture with less than a pixel for each cell is refused", "[unit]") {
  REQUIRE_CODE((CatchSettings{5, 10, 9}.Validate()), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK((CatchSettings{5, 10, 10}.Validate()));
  REQUIRE_OK((CatchSettings{5, 10, {}}.Validate()));
}

}  // namespace
}  // namespace waggle
