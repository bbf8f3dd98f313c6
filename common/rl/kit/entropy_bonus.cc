#include "common/rl/kit/entropy_bonus.h"

#include "common/config/spec/joint_action.h"

namespace waggle {

EntropyBonus::EntropyBonus(const EntropyOptions& options, Model* model)
    : options_(options), scalar_(options.learns_weight() ? model->scalar(kLogEntropyWeight) : nullptr) {
  if (options.rule == "stages") {
    stages_.emplace(options.stages, options.target.has_value()
                                        ? *options.target
                                        : DefaultEntropyTarget(JointActionOf(model->environment())));
  }
}

torch::Tensor EntropyBonus::Weight(const UpdateContext& context, const torch::Tensor& like) const {
  return scalar_ != nullptr ? scalar_->value().detach().exp()
                            : torch::full({}, options_.weight.At(context.progress()), like.options());
}

void EntropyBonus::Descend(const torch::Tensor& loss, const torch::Tensor& mean_entropy, ParameterGroup* group,
                           UpdateContext* context) {
  context->Descend(loss - Weight(*context, loss) * mean_entropy, group);
  Learn(mean_entropy, context);
  context->Report("entropy", mean_entropy);
}

void EntropyBonus::Learn(const torch::Tensor& mean_entropy, UpdateContext* context) {
  if (stages_.has_value()) {
    const double entropy = context->Mean(mean_entropy).item<double>();
    if (!context->status().ok()) {
      return;
    }
    const torch::Tensor& weight = scalar_->group()->values();
    context->Assign(torch::full_like(weight, stages_->Next(weight.item<double>(), entropy)), scalar_->group());
    context->Report("entropy_weight", weight.exp());
  } else if (scalar_ != nullptr) {
    context->Descend(scalar_->value() * (mean_entropy.detach() - *options_.target), scalar_->group());
  }
}

void EntropyBonus::VisitState(StateVisitor* visitor) {
  if (stages_.has_value()) {
    visitor->Scope("entropy", [&] { stages_->VisitState(visitor); });
  }
}

}  // namespace waggle
