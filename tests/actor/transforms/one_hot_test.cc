#include <cstring>

#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("a choice becomes a vector of a one and zeros", "[unit]") {
  CompareWithSlowLanes(R"(["one_hot"])", [](std::unique_ptr<SlowLane> inner, const Rng&) {
    return MapRows(std::move(inner), [](SlowRow* row) {
      int64_t gear[2] = {};
      std::memcpy(gear, row->observations[kGear].data(), sizeof(gear));
      float hot[7] = {};
      hot[gear[0]] = 1;
      hot[5 + gear[1]] = 1;
      row->observations[kGear] = std::string(reinterpret_cast<const char*>(hot), sizeof(hot));
    });
  });
}

}  // namespace
}  // namespace waggle::testing
