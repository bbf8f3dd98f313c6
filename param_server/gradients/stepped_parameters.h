#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/gradients.h"
#include "common/api/model.h"
#include "common/checkpoint/checkpoint_contents.h"
#include "common/config/schedule.h"
#include "common/nn/flat_optimizer.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// A group of parameters and what steps it.
struct SteppedGroup {
  GradientGroup group;
  OptimizerOptions optimizer;
};

// The weights of one network, which gradients change: flat, in groups that stand one after the other from the first
// element on, each with an optimizer of its own. What comes after the last group is not stepped: what normalizers hold.
// Not thread-safe.
class SteppedParameters {
 public:
  // INVALID_ARGUMENT where the weights are not finite float32, or fewer than the groups have; or the options are wrong.
  static absl::StatusOr<std::unique_ptr<SteppedParameters>> Create(const ModelSnapshot& weights,
                                                                   const std::vector<SteppedGroup>& groups);

  const GradientModel& model() const { return model_; }

  // One step of every group by its own optimizer, learning rate and clipping, from a gradient whose elements each count
  // `scale` times. INVALID_ARGUMENT, with nothing changed, where the gradient is not finite.
  absl::Status Step(const float* gradient, double scale, const Progress& progress);

  // L2, over all groups, of the last step's gradient before it was clipped.
  double gradient_norm() const;

  // A copy of the weights as they are; version and progress are left to the caller.
  ModelSnapshot Snapshot() const;

  // The weights and all that the optimizers hold, bit for bit.
  void Save(CheckpointContents* contents) const;
  // FAILED_PRECONDITION, saying what was got and what was wanted, for those of other parameters or optimizers; then
  // nothing has changed.
  absl::Status Restore(const CheckpointContents& contents);

 private:
  struct Group {
    std::string name;
    int64_t begin = 0;  // Its first element.
    int64_t elements = 0;
    OptimizerOptions options;
    FlatOptimizer optimizer;
    std::vector<std::shared_ptr<char>> arrays;  // options.StateArrays() of them.
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
