#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("bytes become numbers between two bounds", "[unit]") {
  CompareWithSlowLanes(R"([{"scale": {"min": -2, "max": 4}}])", [](std::unique_ptr<SlowLane> inner, const Rng&) {
    return MapRows(std::move(inner), [](SlowRow* row) {
      std::string scaled;
      for (const char byte : row->observations[kCamera]) {
        const double share = static_cast<uint8_t>(byte) / 255.0;
        const auto number = static_cast<float>(-2 * (1 - share) + 4 * share);
        scaled.append(reinterpret_cast<const char*>(&number), sizeof(number));
      }
      row->observations[kCamera] = scaled;
    });
  });
}

}  // namespace
}  // namespace waggle::testing
