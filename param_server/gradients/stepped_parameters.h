#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/plan/optimizer_options.h"
#include "common/config/schedule.h"
#include "common/hub/ports/gradients.h"
#include "common/hub/ports/model.h"
#include "common/nn/flat_optimizer.h"
#include "common/rl/checkpoint/checkpoint_contents.h"

namespace waggle {

// A group of parameters and its optimizer.
struct SteppedGroup {
  GradientGroup group;
  OptimizerOptions optimizer;
};

// One network's weights in a flat array. Groups follow each other from the first element on, each with its own
// optimizer. Elements after the last group belong to normalizers and are not stepped. Not thread-safe.
class SteppedParameters {
 public:
  // INVALID_ARGUMENT if the weights are not finite float32, are fewer than the groups have, or the options are wrong.
  static absl::StatusOr<std::unique_ptr<SteppedParameters>> Create(const ModelSnapshot& weights,
                                                                   const std::vector<SteppedGroup>& groups);

  const GradientModel& model() const { return model_; }

  // Steps each group by its own optimizer, learning rate and clipping, from `scale` times the gradient.
  // INVALID_ARGUMENT, with nothing changed, if the gradient is not finite.
  absl::Status Step(const float* gradient, double scale, const Progress& progress);

  // Takes the learning rate and the clipping of other options, which must be valid, for all groups.
  void SetRates(const OptimizerOptions& options);

  // The L2 norm over all groups of the last step's gradient before clipping.
  double gradient_norm() const;

  // A copy of the weights. The caller sets version and progress.
  ModelSnapshot Snapshot() const;

  // Saves the weights and the optimizers' state, bit for bit.
  void Save(CheckpointContents* contents) const;
  // FAILED_PRECONDITION, with nothing changed, for the state of other parameters or optimizers.
  absl::Status Restore(const CheckpointContents& contents);

 private:
  struct Group {
    std::string name;
    int64_t begin = 0;  // Its first element.
    int64_t elements = 0;
    OptimizerOptions options;
    FlatOptimizer optimizer;
    std::vector<std::shared_ptr<char>> arrays;  // As many as options.StateArrays().
  };

  SteppedParameters() = default;
  float* values() const { return reinterpret_cast<float*>(values_.get()); }
  static std::string Identity(const OptimizerOptions& options);

  ModelSnapshot header_;  // Without data.
  int64_t num_values_ = 0;
  GradientModel model_;
  std::vector<Group> groups_;
  std::shared_ptr<char> values_;
};

}  // namespace waggle
