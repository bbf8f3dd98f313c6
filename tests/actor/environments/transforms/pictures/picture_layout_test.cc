#include "actor/environments/transforms/pictures/picture_layout.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a picture's channels are first, unless the last dimension alone may be channels", "[unit]") {
  CHECK_FALSE(PictureLayoutOf({}).has_value());
  CHECK_FALSE(PictureLayoutOf({5}).has_value());
  CHECK_FALSE(PictureLayoutOf({1, 2, 3, 4}).has_value());
  const auto is = [](const std::vector<int64_t>& shape, const PictureLayout& wanted) {
    const std::optional<PictureLayout> picture = PictureLayoutOf(shape);
    return picture.has_value() && picture->channels == wanted.channels && picture->height == wanted.height &&
           picture->width == wanted.width && picture->channel_stride == wanted.channel_stride &&
           picture->pixel_stride == wanted.pixel_stride;
  };
  CHECK(is({6, 5}, {1, 6, 5, 30, 1}));
  CHECK(is({12, 6, 5}, {12, 6, 5, 30, 1}));
  CHECK(is({6, 5, 3}, {3, 6, 5, 1, 3}));
  CHECK(is({6, 5, 1}, {1, 6, 5, 1, 1}));
  CHECK(is({3, 6, 4}, {3, 6, 4, 24, 1}));
}

}  // namespace
}  // namespace waggle
