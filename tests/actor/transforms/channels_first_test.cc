#include "tests/actor/transforms/camera.h"
#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("channels move from the last dimension to the first", "[unit]") {
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
