#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace waggle {

// A pseudo-random generator whose every draw follows from its seed, on every platform. Not thread-safe: each component
// has one of its own, split from the run's seed by name and index.
class Rng {
 public:
  explicit Rng(uint64_t seed) : engine_(seed) {}

  // The generator of component `name` number `index` in a run with this seed, for example Split(seed, "actor", 2).
  static Rng Split(uint64_t seed, absl::string_view name, uint64_t index);

  // Uniform over all 64-bit numbers.
  uint64_t Next() { return engine_(); }

  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

  // Uniform in [low, high).
  double Uniform(double low, double high) {
    const double number = low + (high - low) * Uniform();
    return number < high ? number : std::nextafter(high, low);  // Rounding may reach the bound.
  }

  // Uniform over {0, …, bound - 1}; `bound` is positive.
  uint64_t UniformInt(uint64_t bound) {
    // Multiply-shift instead of a modulo: the bias is below 2^-32 for every bound under 2^32.
    return static_cast<uint64_t>((static_cast<unsigned __int128>(engine_()) * bound) >> 64);
  }

  // The generator's whole state as text, for checkpoints.
  std::string Save() const;
  // INVALID_ARGUMENT if `state` did not come from Save(); the generator is then as before.
  absl::Status Restore(const std::string& state);

 private:
  std::mt19937_64 engine_;
};

}  // namespace waggle
