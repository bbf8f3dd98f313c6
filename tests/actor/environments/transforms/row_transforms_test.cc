#include <algorithm>
#include <cstring>

#include "tests/actor/environments/transforms/camera.h"
#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/actor/environments/transforms/slow_lane.h"
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

TEST_CASE("a copy does not change when the original is transformed", "[unit]") {
  CompareWithSlowLanes(
      R"([{"copy": {"observation": "observation/speed", "as": "raw/speed"}},
          {"frame_stack": {"frames": 2, "observation": "observation/speed"}}, "flatten"])",
      [](std::unique_ptr<SlowLane> inner, const Rng&) {
        auto before = std::make_shared<std::string>();
        return MapRows(std::move(inner), [before](SlowRow* row) {
          const std::string speed = row->observations[kSpeed];
          row->observations[kSpeed] = (row->step_type == StepType::kFirst ? speed : *before) + speed;
          row->observations.push_back(speed);
          *before = speed;
        });
      });
}

TEST_CASE("flattened observations keep their elements and their order", "[unit]") {
  CompareWithSlowLanes(R"(["flatten"])", [](std::unique_ptr<SlowLane> inner, const Rng&) { return inner; });
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

TEST_CASE("rewards are shifted, then scaled, then clipped, and an episode's first row has zeros", "[unit]") {
  CompareWithSlowLanes(R"([{"reward": {"shift": 1, "scale": 0.5, "clip": {"max": 1.25}}}])",
                       [](std::unique_ptr<SlowLane> inner, const Rng&) {
                         return MapRows(std::move(inner), [](SlowRow* row) {
                           for (float& reward : row->rewards) {
                             reward = row->step_type == StepType::kFirst ? 0 : std::min((reward + 1) * 0.5F, 1.25F);
                           }
                         });
                       });
}

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
