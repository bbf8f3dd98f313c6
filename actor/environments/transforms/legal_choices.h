#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/environments/vector_environment.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The choices that each lane's newest masks allow. One thread.
class LegalChoices {
 public:
  LegalChoices(const EnvironmentSpec& spec, int64_t lanes);

  // Keeps the masks among the lanes' observations.
  void See(const ReadyLanes& ready);

  // True if the lane may take the action in row `row` of arrays of action leaves, whose choices are within their
  // spaces. Always true if there are no masks.
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
