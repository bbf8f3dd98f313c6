#include <algorithm>
#include <cstring>

#include "tests/actor/environments/transforms/camera.h"
#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/actor/environments/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// The share of element `i` of `from` that element `k` of `to` covers, of its own size.
double Share(int i, int from, int k, int to) {
  const double size = static_cast<double>(from) / to;
  const double shared = std::min(i + 1.0, (k + 1) * size) - std::max<double>(i, k * size);
  return std::max(shared, 0.0) / size;
}

// The mean of the area that a pixel of a picture of this size covers.
template <class At>
double Mean(int from_height, int from_width, int height, int width, int row, int column, const At& at) {
  double mean = 0;
  for (int i = 0; i < from_height; ++i) {
    for (int k = 0; k < from_width; ++k) {
      mean += Share(i, from_height, row, height) * Share(k, from_width, column, width) * at(i, k);
    }
  }
  return mean;
}

void CompareResized(int height, int width) {
  const std::string settings =
      R"({"height": )" + std::to_string(height) + R"(, "width": )" + std::to_string(width) + "}";
  CompareWithSlowLanes(R"([{"resize": )" + settings + "}]", [=](std::unique_ptr<SlowLane> inner, const Rng&) {
    return MapRows(std::move(inner), [=](SlowRow* row) {
      std::string camera;
      for (size_t channel = 0; channel < 3; ++channel) {
        for (int i = 0; i < height * width; ++i) {
          camera += Rounded(Mean(7, 5, height, width, i / width, i % width, [&](int y, int x) {
            return CameraAt(row->observations[kCamera], channel, static_cast<size_t>(5 * y + x));
          }));
        }
      }
      std::string plane;
      for (size_t channel = 0; channel < 2; ++channel) {
        for (int i = 0; i < height * width; ++i) {
          const auto mean = static_cast<float>(Mean(8, 2, height, width, i / width, i % width, [&](int y, int x) {
            float element = 0;
            std::memcpy(&element,
                        &row->observations[kPlane][sizeof(element) * (16 * channel + static_cast<size_t>(2 * y + x))],
                        sizeof(element));
            return element;
          }));
          plane.append(reinterpret_cast<const char*>(&mean), sizeof(mean));
        }
      }
      row->observations[kCamera] = camera;
      row->observations[kPlane] = plane;
    });
  });
}
TEST_CASE("a pixel of a smaller or larger picture is the mean of the area that it covers", "[unit]") {
  // Powers of two, so that the plane's sums are exact.
  SECTION("smaller") {
    CompareResized(2, 2);
  }
  SECTION("larger") {
    CompareResized(8, 8);
  }
}

}  // namespace
}  // namespace waggle::testing
