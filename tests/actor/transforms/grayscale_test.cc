#include "tests/actor/transforms/camera.h"
#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("a grey picture is the luma of the colours, rounded to the nearest", "[unit]") {
  const std::string transforms = GENERATE(R"(["grayscale"])", R"(["channels_first", "grayscale"])");
  CompareWithSlowLanes(transforms, [](std::unique_ptr<SlowLane> inner, const Rng&) {
    return MapRows(std::move(inner), [](SlowRow* row) {
      std::string luma;
      for (size_t pixel = 0; pixel < 35; ++pixel) {
        const auto at = [&](size_t channel) { return CameraAt(row->observations[kCamera], channel, pixel); };
        luma += Rounded((19595 * at(0) + 38470 * at(1) + 7471 * at(2)) / 65536.0);
      }
      row->observations[kCamera] = luma;
    });
  });
}

}  // namespace
}  // namespace waggle::testing
