#include "actor/environments/builtin/scripts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "actor/environments/element_access.h"

namespace waggle {
namespace {

double Number(const void* array, int64_t index) {
  return static_cast<double>(ElementAt<float>(array, index));
}

void Choose(int64_t choice, void* action) {
  std::memcpy(action, &choice, sizeof(choice));
}

// The push of Spread-v0 along the longer of two sides; none if both are short.
int64_t PushAlong(double x, double y) {
  constexpr double kClose = 0.05;
  if (std::max(std::abs(x), std::abs(y)) < kClose) {
    return 0;
  }
  if (std::abs(x) > std::abs(y)) {
    return x < 0 ? 1 : 2;
  }
  return y < 0 ? 3 : 4;
}

}  // namespace

void BalanceCartPole(const EnvironmentSpec& /*spec*/, absl::Span<const void* const> observations,
                     absl::Span<void* const> actions) {
  const auto at = [&](int64_t i) { return Number(observations[0], i); };
  // Position, velocity, angle and angular velocity, by the gains of a linear regulator.
  Choose(0.05 * at(0) + 0.15 * at(1) + at(2) + 0.3 * at(3) > 0 ? 1 : 0, actions[0]);
}

void SwingUpPendulum(const EnvironmentSpec& /*spec*/, absl::Span<const void* const> observations,
                     absl::Span<void* const> actions) {
  const double cosine = Number(observations[0], 0);
  const double sine = Number(observations[0], 1);
  const double speed = Number(observations[0], 2);
  constexpr double kNear = 0.9;    // Cosine of the angle within which it holds the pendulum.
  constexpr double kFastest = 3;   // The largest speed there.
  constexpr double kGravity = 15;  // Acceleration by gravity, of the default settings.
  const double energy = speed * speed / 2 + kGravity * (cosine - 1);  // 0: just reaches the top.
  double action = energy < 0 ? std::copysign(1, speed) : -std::copysign(1, speed);
  if (cosine > kNear && std::abs(speed) < kFastest) {
    action = -(8 * std::atan2(sine, cosine) + 2 * speed) / 2;
  }
  WriteFloats({std::clamp(action, -1.0, 1.0)}, actions[0]);
}

void RockMountainCar(const EnvironmentSpec& spec, absl::Span<const void* const> observations,
                     absl::Span<void* const> actions) {
  const bool is_right = Number(observations[0], 1) >= 0;
  if (spec.actions[0].kind == SpaceKind::kDiscrete) {
    Choose(is_right ? 2 : 0, actions[0]);
  } else {
    WriteFloats({is_right ? 1.0 : -1.0}, actions[0]);
  }
}

void SteerPointMass(const EnvironmentSpec& /*spec*/, absl::Span<const void* const> observations,
                    absl::Span<void* const> actions) {
  const auto push = [&](int64_t i) {
    const double distance = Number(observations[2], i) - Number(observations[1], i);
    return std::clamp(8 * distance - 3 * Number(observations[0], 2 + i), -1.0, 1.0);
  };
  WriteFloats({push(0), push(1)}, actions[0]);
}

void SpreadOut(const EnvironmentSpec& /*spec*/, absl::Span<const void* const> observations,
               absl::Span<void* const> actions) {
  // An observation has the velocity and the position, then the landmarks relative to it: (x, y) each.
  const auto x = [&](size_t agent, size_t landmark) {
    return Number(observations[agent], static_cast<int64_t>(4 + 2 * landmark));
  };
  const auto y = [&](size_t agent, size_t landmark) {
    return Number(observations[agent], static_cast<int64_t>(5 + 2 * landmark));
  };
  const auto distance = [&](size_t agent, size_t landmark) {
    return std::hypot(x(agent, landmark), y(agent, landmark));
  };
  std::vector<size_t> landmarks(actions.size());
  std::iota(landmarks.begin(), landmarks.end(), size_t{0});
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t a = 0; a < landmarks.size(); ++a) {
      for (size_t b = a + 1; b < landmarks.size(); ++b) {
        // An exchange must save more than rounding does, so that this ends.
        constexpr double kLeastSaving = 1e-6;
        if (distance(a, landmarks[b]) + distance(b, landmarks[a]) + kLeastSaving <
            distance(a, landmarks[a]) + distance(b, landmarks[b])) {
          std::swap(landmarks[a], landmarks[b]);
          changed = true;
        }
      }
    }
  }
  for (size_t agent = 0; agent < actions.size(); ++agent) {
    constexpr double kBraking = 0.3;  // Seconds ahead: an agent coasts about so long.
    const double speed_x = Number(observations[agent], 0);
    const double speed_y = Number(observations[agent], 1);
    Choose(PushAlong(x(agent, landmarks[agent]) - kBraking * speed_x, y(agent, landmarks[agent]) - kBraking * speed_y),
           actions[agent]);
  }
}

}  // namespace waggle
