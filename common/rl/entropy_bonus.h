#pragma once

#include "common/nn/torch.h"
#include "common/plan/entropy_options.h"
#include "common/rl/model.h"
#include "common/rl/update_context.h"

namespace waggle {

// What a policy's entropy is worth to an algorithm, as EntropyOptions say. May throw as LibTorch does.
class EntropyBonus {
 public:
  // The model is of a plan with EntropyScalars(options), and outlives the bonus.
  EntropyBonus(const EntropyOptions& options, Model* model)
      : options_(options), scalar_(options.target.has_value() ? model->scalar(kLogEntropyWeight) : nullptr) {}

  // Without dimensions, constant: what a nat counts now. `like` has the element type and device.
  torch::Tensor Weight(const UpdateContext& context, const torch::Tensor& like) const;

  // A step of the group by loss - weight * mean entropy, and one of the weight where it is learned. Reports the
  // entropy.
  void Descend(const torch::Tensor& loss, const torch::Tensor& mean_entropy, ParameterGroup* group,
               UpdateContext* context) const;

  // Where the weight is learned, it is stepped: it grows while the mean entropy is below the target.
  void Learn(const torch::Tensor& mean_entropy, UpdateContext* context) const;

 private:
  const EntropyOptions options_;
  Scalar* const scalar_;  // Null where it is given.
};

}  // namespace waggle
