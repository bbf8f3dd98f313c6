#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// The camera of a ScriptedEnvironment: 7 x 5 pixels, with channels last.

namespace waggle::testing {

inline uint32_t CameraAt(const std::string& camera, size_t channel, size_t pixel) {
  return static_cast<uint8_t>(camera[3 * pixel + channel]);
}

// A byte, rounded to the nearest.
inline char Rounded(double number) {
  return static_cast<char>(static_cast<uint8_t>(number + 0.5));
}

}  // namespace waggle::testing
