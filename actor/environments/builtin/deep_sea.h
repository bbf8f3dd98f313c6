#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of DeepSea-v0.
struct DeepSeaSettings {
  int64_t size = 10;              // Rows, and columns.
  bool randomize_actions = true;  // The action that goes right is drawn for each cell. Otherwise it is 1 in all cells.
  int64_t seed_of_map = 0;        // Determines these draws alone, so all copies have one map.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A diver sinks from the top left cell of a square grid by one row in each step, and goes one column to the left or to
// the right: DeepSea-v0, the deterministic deep sea of bsuite (arXiv 1908.03568; first in arXiv 1703.07608). A move to
// the right costs 0.01 / size. The only other reward is 1, for a move to the right from the bottom right cell, so the
// best return is 0.99 and a random policy finds it in one of 2^size episodes. Episodes terminate below the last row,
// after `size` steps. The observation has an element for each cell, row by row: 1 where the diver is. Below the last
// row all elements are 0. Nothing depends on a copy's seed.
class DeepSea : public EpisodicEnvironment {
 public:
  using Settings = DeepSeaSettings;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  DeepSea(const Settings& settings, uint64_t seed);

  absl::StatusOr<Picture> Draw() const override;

 private:
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  int64_t Cell() const { return row_ * size_ + column_; }
  void Show(void* observation) const;

  const int64_t size_;
  std::vector<int8_t> right_;  // For each cell, the action that goes right.
  int64_t row_ = 0;
  int64_t column_ = 0;
};

}  // namespace waggle
