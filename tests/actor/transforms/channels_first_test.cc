#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// The camera has 7 x 5 pixels, with channels last.
uint32_t CameraAt(const std::string& camera, size_t channel, size_t pixel) {
  return static_cast<uint8_t>(camera[3 * pixel + channel]);
}

TEST_CASE("channels that are last become first", "[unit]") {
  CompareWithSlowLanes(R"(["channels_first"])", [](std::unique_ptr<SlowLane> inner, const Rng&) {
    return MapRows(std::move(inner), [](SlowRow* row) {
      std::string transposed;
      for (size_t channel = 0; channel < 3; ++channel) {
        for (size_t pixel = 0; pixel < 35; ++pixel) {
          transposed += static_cast<char>(CameraAt(row->observations[kCamera], channel, pixel));
        }
      }
      row->observations[kCamera] = transposed;
    });
  });
}

}  // namespace
}  // namespace waggle::testing
