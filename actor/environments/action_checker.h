#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "actor/environments/element_access.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Decides whether an environment takes an action: an array for each leaf of the spec's actions, of any alignment, whose
// elements are within the leaf's space and allowed by the newest mask, if the leaf has one. One thread.
class ActionChecker {
 public:
  explicit ActionChecker(const EnvironmentSpec& spec);

  // Keeps the masks among an environment's newest observations, one array for each leaf.
  void SeeMasks(absl::Span<void* const> observations) {
    if (has_masks_) {
      CopyMasks(observations);
    }
  }

  // INVALID_ARGUMENT, "action/move[1]: got 5; wanted an integer in [0, 2]", if an element is NaN or outside its leaf's
  // space, or a choice is forbidden by the mask.
  absl::Status Check(absl::Span<const void* const> actions) const {
    const bool is_plain_choice =
        only_choices_ > 0 && static_cast<uint64_t>(ElementAt<int64_t>(actions[0])) < only_choices_;
    return is_plain_choice ? absl::OkStatus() : CheckAll(actions);
  }

 private:
  struct Action {
    SpaceLeaf leaf;
    size_t mask_leaf = 0;    // Among the observations.
    std::vector<char> mask;  // Its newest value, a bool a choice; empty: the leaf has none.
  };

  void CopyMasks(absl::Span<void* const> observations);
  absl::Status CheckAll(absl::Span<const void* const> actions) const;

  std::vector<Action> actions_;
  // The choices of the only action, if it is discrete and has no mask, else 0. Most environments are checked by one
  // comparison.
  uint64_t only_choices_ = 0;
  bool has_masks_ = false;
};

}  // namespace waggle
