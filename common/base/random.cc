#include "common/base/random.h"

#include <sstream>

#include "absl/status/status.h"

namespace waggle {
namespace {

// SplitMix64's finaliser (Steele, Lea and Flood, 2014): neighbouring seeds give unrelated streams.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

Rng Rng::Split(uint64_t seed, absl::string_view name, uint64_t index) {
  uint64_t hash = Mix(seed);
  for (const char c : name) {
    hash = Mix(hash ^ static_cast<unsigned char>(c));
  }
  // One more Mix than the index has: otherwise seed and index would be interchangeable for an empty name.
  return Rng(Mix(Mix(hash) ^ Mix(index)));
}

std::string Rng::Save() const {
  std::ostringstream out;
  out << engine_;
  return out.str();
}

absl::Status Rng::Restore(const std::string& state) {
  std::istringstream in(state);
  std::mt19937_64 engine;
  in >> engine;
  Rng restored(0);
  restored.engine_ = engine;
  // The stream operator accepts more than it writes: signs, other blanks, longer texts.
  if (in.fail() || restored.Save() != state) {
    return absl::InvalidArgumentError("not the state of a random generator");
  }
  engine_ = engine;
  return absl::OkStatus();
}

}  // namespace waggle
