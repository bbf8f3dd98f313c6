#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

char Rounded(double number) {
  return static_cast<char>(static_cast<uint8_t>(number + 0.5));
}

// The camera has 7 x 5 pixels, with channels last.
uint32_t CameraAt(const std::string& camera, size_t channel, size_t pixel) {
  return static_cast<uint8_t>(camera[3 * pixel + channel]);
}

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
