#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace waggle {

// A pseudo-random generator whose draws depend on the seed only, on all platforms. Not thread-safe: each component has
// its own, split from the run's seed by name and index.
class Rng {
 public:
  explicit Rng(uint64_t seed) : engine_(seed) {}

  // The generator of component `name` number `index` in a run of this seed: Split(seed, "actor", 2).
  static Rng Split(uint64_t seed, absl::string_view name, uint64_t index);

  // Uniform over all 64-bit numbers.
  uint64_t Next() { return engine_(); }

  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

  double Uniform(double low, double high) {
    const double number = low + (high - low) * Uniform();
    return number < high ? number : std::nextafter(high, low);  // Rounding may reach the bound.
  }

  // Uniform over {0, …, bound - 1}; `bound` must be positive.
  uint64_t UniformInt(uint64_t bound) {
    // Multiply-shift instead of a modulo: the bias is below 2^-32 if bound < 2^32.
    return static_cast<uint64_t>((static_cast<unsigned __int128>(engine_()) * bound) >> 64);
  }

  // The whole state as text, for checkpoints.
  std::string Save() const;
  // INVALID_ARGUMENT, with no change, if `state` did not come from Save().
  absl::Status Restore(const std::string& state);

 private:
  std::mt19937_64 engine_;
};

}  // namespace waggle
