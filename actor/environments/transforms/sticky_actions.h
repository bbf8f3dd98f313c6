#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "actor/environments/leaf_arrays.h"
#include "actor/environments/transforms/environment_transform.h"
#include "actor/environments/transforms/legal_choices.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `sticky_actions`.
struct StickyActionsSettings {
  double probability = 0.25;

  void Visit(ConfigVisitor& visitor) { visitor.Double("probability", &probability, In(0, 1)); }
  absl::Status Validate() const { return absl::OkStatus(); }
};

// In each step, with this probability, the environment repeats its previous action instead of taking the chosen one
// (arXiv 1709.06009). An episode's first action is never replaced, nor is one if a mask forbids the previous action.
class StickyActions : public EnvironmentTransform {
 public:
  using Settings = StickyActionsSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  StickyActions(const Settings& settings, TransformParts parts);

  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

 private:
  const double probability_;
  std::vector<Rng> rngs_;           // By lane.
  std::vector<uint8_t> has_taken_;  // By lane: true once the environment has taken an action in this episode.
  LeafArrays taken_;                // By lane: the newest action.
  LeafArrays sent_;                 // By row.
  std::vector<const void*> sent_pointers_;
  LegalChoices legal_;
};

}  // namespace waggle
