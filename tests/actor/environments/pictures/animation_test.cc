#include "actor/environments/pictures/animation.h"

#include "tests/actor/environments/pictures/decoded_animation.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::Decoded;
using testing::DecodedAnimation;
using testing::ValueOf;

constexpr Picture::View kView = {0, 4, 0, 1};

TEST_CASE("An animation shows every picture without loss for its time, and the last one longer", "[unit]") {
  Animation animation;
  std::vector<std::vector<uint8_t>> drawn;
  for (int i = 0; i < 5; ++i) {
    Picture picture(kView, absl::Milliseconds(20 * (i + 1)));
    picture.DrawDisc({0.5 + i * 0.75, 0.5}, 0.3, i % 2 == 0 ? kBlue : kOrange);
    drawn.push_back(picture.rgb());
    REQUIRE_OK(animation.Add(picture));
  }
  const DecodedAnimation decoded = Decoded(ValueOf(animation.Finish()));
  CHECK(decoded.width == 400);
  CHECK(decoded.height == 100);
  CHECK(decoded.ends == std::vector<int>{20, 60, 120, 200, 1300});
  CHECK(decoded.frames == drawn);
}

TEST_CASE("Equal pictures in a row become one frame", "[unit]") {
  Animation animation;
  REQUIRE_OK(animation.Add(Picture(kView)));
  REQUIRE_OK(animation.Add(Picture(kView)));
  const DecodedAnimation decoded = Decoded(ValueOf(animation.Finish()));
  REQUIRE_FALSE(decoded.frames.empty());
  CHECK(decoded.frames.back() == Picture(kView).rgb());
}

TEST_CASE("A picture of another size is refused, and the animation continues", "[unit]") {
  Animation animation;
  REQUIRE_OK(animation.Add(Picture(kView)));
  REQUIRE_CODE(animation.Add(Picture({0, 1, 0, 1})), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(animation.Finish().status());
}

}  // namespace
}  // namespace waggle
