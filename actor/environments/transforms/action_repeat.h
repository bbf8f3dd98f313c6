#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "actor/environments/leaf_arrays.h"
#include "actor/environments/transforms/inner_steps.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `action_repeat`.
struct ActionRepeatSettings {
  int64_t steps = 4;
  int64_t max_pool = 1;
  std::string observation;  // The leaf to pool, as in LeafSettings.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// The environment takes each action several times, which counts as one step: the reward is the sum, and the observation
// is the last one. A repeat ends early if the episode ends, or a mask forbids the action. Pictures are the elementwise
// maximum over the last `max_pool` steps of a whole repeat, as far as they were taken.
class ActionRepeat : public InnerSteps {
 public:
  using Settings = ActionRepeatSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  ActionRepeat(const Settings& settings, TransformParts parts);

 private:
  // A leaf that is pooled.
  struct Pool {
    size_t leaf = 0;
    LeafArrays greatest;  // By lane.
  };

  Next Take(const ReadyLanes& ready, size_t row) override;
  void Finish(int64_t lane, absl::Span<void* const> observations, size_t row) override;
  void PoolRow(const ReadyLanes& ready, size_t row);

  const int64_t steps_;
  const int64_t max_pool_;
  std::vector<Pool> pools_;
  // By lane, in the repeat under way.
  std::vector<int64_t> steps_taken_;
  std::vector<int64_t> frames_pooled_;
};

}  // namespace waggle
