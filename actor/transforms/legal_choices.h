#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/vector_environment.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// Knows, of each lane, which actions its newest masks allow. One thread.
class LegalChoices {
 public:
  LegalChoices(const EnvironmentSpec& spec, int64_t lanes);

  // Keeps the masks among what lanes show.
  void See(const ReadyLanes& ready);

  // Whether the lane may take the action in row `row` of arrays of action leaves, whose choices are within their
  // spaces. Always, if there are no masks.
  bool Allow(int64_t lane, absl::Span<const void* const> actions, size_t row) const;

 private:
  struct Mask {
    size_t observation = 0;
    size_t action = 0;
    std::vector<int64_t> num_values;  // The action's choices, by element.
    size_t choices = 0;               // Their sum.
    std::vector<uint8_t> newest;      // [lanes, choices].
  };
  std::vector<Mask> masks_;
};

}  // namespace waggle
