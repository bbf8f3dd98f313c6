#include "common/rl/kit/entropy_bonus.h"

namespace waggle {

torch::Tensor EntropyBonus::Weight(const UpdateContext& context, const torch::Tensor& like) const {
  return scalar_ != nullptr ? scalar_->value().detach().exp()
                            : torch::full({}, options_.weight.At(context.progress()), like.options());
}

void EntropyBonus::Descend(const torch::Tensor& loss, const torch::Tensor& mean_entropy, ParameterGroup* group,
                           UpdateContext* context) const {
  context->Descend(loss - Weight(*context, loss) * mean_entropy, group);
  Learn(mean_entropy, context);
  context->Report("entropy", mean_entropy);
}

void EntropyBonus::Learn(const torch::Tensor& mean_entropy, UpdateContext* context) const {
  if (scalar_ != nullptr) {
    context->Descend(scalar_->value() * (mean_entropy.detach() - *options_.target), scalar_->group());
  }
}

}  // namespace waggle
