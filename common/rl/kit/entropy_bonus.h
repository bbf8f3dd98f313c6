#pragma once

#include <optional>

#include "common/config/plan/entropy_options.h"
#include "common/nn/torch.h"
#include "common/rl/kit/entropy_stages.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// Rewards a policy's entropy by EntropyOptions. May throw as LibTorch does.
class EntropyBonus {
 public:
  // The model must be of a plan with EntropyScalars(options) and outlive this.
  EntropyBonus(const EntropyOptions& options, Model* model);

  // The present worth of a nat: a constant without dimensions, of the type and device of `like`.
  torch::Tensor Weight(const UpdateContext& context, const torch::Tensor& like) const;

  // Steps the group by loss - weight * mean entropy, and the weight if it is learned. Reports the entropy.
  void Descend(const torch::Tensor& loss, const torch::Tensor& mean_entropy, ParameterGroup* group,
               UpdateContext* context);

  // Moves a learned weight: by its gradient it grows while the mean entropy is below the target. The rule stages waits
  // for the device.
  void Learn(const torch::Tensor& mean_entropy, UpdateContext* context);

  // Visits the state beside the weight: that of the stages.
  void VisitState(StateVisitor* visitor);

 private:
  const EntropyOptions options_;
  Scalar* const scalar_;  // Null if the weight is fixed.
  std::optional<EntropyStages> stages_;
};

}  // namespace waggle
