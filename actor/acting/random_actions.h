#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/vector_environment.h"
#include "common/base/random.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Uniformly random legal actions, in the form of a policy's. Elements without bounds on both sides are drawn from [-1,
// 1], moved into their bounds. Not thread-safe.
class RandomActions {
 public:
  // The spec is valid and outlives this.
  RandomActions(const EnvironmentSpec& spec, int64_t lanes, Rng rng);

  // One action for each row, as its masks allow. Valid until the next call.
  absl::Span<const void* const> Draw(const ReadyLanes& ready);
  // The same for rows of these observations, an array [rows, …] for each leaf.
  absl::Span<const void* const> Draw(int64_t rows, absl::Span<const void* const> observations);

 private:
  struct Action {
    const SpaceLeaf* leaf = nullptr;
    bool scaled = false;
    // The index of its mask's observation; negative: no mask.
    int mask = -1;
  };

  double DrawElement(const Action& action, int64_t element, const bool* mask);

  const EnvironmentSpec& spec_;
  Rng rng_;
  std::vector<Action> actions_;
  LeafArrays arrays_;
  std::vector<const void*> pointers_;
  std::vector<const void*> observations_;
};

}  // namespace waggle
