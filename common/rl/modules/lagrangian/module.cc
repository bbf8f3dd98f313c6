#include "common/rl/modules/implementations.h"
#include "common/rl/modules/intrinsic/steps.h"
#include "common/rl/modules/lagrangian/lagrangian.h"

namespace waggle {
namespace {

constexpr double kRounding = 1e-6;  // The relative error of a weight that is computed from its number.

using torch::Tensor;

class Lagrangian : public Module {
 public:
  Lagrangian(const LagrangianOptions& options, Model* model) : options_(options) {
    for (const RewardBound& bound : options.bounds) {
      numbers_.push_back(model->scalar(bound.Name()));
    }
  }

  void Rewrite(const EnvironmentSpec& environment, TableBatches* batches, UpdateContext* context) override {
    const Tensor mean = options_.rewards == "actors" ? NewestMean(environment, *batches) : EvaluatedMean(*context);
    Tensor weights = context->reward_weights().clone();
    for (size_t i = 0; i < options_.bounds.size(); ++i) {
      const RewardBound& bound = options_.bounds[i];
      const Tensor weight = Weight(numbers_[i]->value());
      if (mean.defined()) {
        // Less than 0: the bound does not hold. A weight at an end of its range goes no further.
        const Tensor room = mean[bound.dimension].to(weight.scalar_type()) - bound.least;
        const Tensor ends = ((weight <= kLeastWeight * (1 + kRounding)) & (room > 0))
                                .logical_or((weight >= options_.largest_weight * (1 - kRounding)) & (room < 0));
        context->Descend(weight * torch::where(ends, torch::zeros_like(room), room), numbers_[i]->group());
        context->Report(absl::StrCat("reward_", bound.dimension, "_mean"), mean[bound.dimension]);
      }
      const Tensor used = Weight(numbers_[i]->value().detach()).clamp(kLeastWeight, options_.largest_weight);
      weights[bound.dimension].copy_(used);
      context->Report(bound.Name(), used);
    }
    context->SetRewardWeights(options_.normalize ? weights / weights.abs().sum() : weights);
  }

 private:
  Tensor Weight(const Tensor& number) const { return options_.form == "exp" ? number.exp() : torch::softplus(number); }

  // The newest evaluation's, [dimensions]. Undefined before the first.
  static Tensor EvaluatedMean(const UpdateContext& context) {
    const std::vector<double>& rewards = context.evaluated_rewards();
    return rewards.size() == static_cast<size_t>(context.reward_weights().numel())
               ? torch::tensor(rewards, context.reward_weights().options())
               : Tensor();
  }

  // The mean of each dimension over the newest steps, [dimensions].
  static Tensor NewestMean(const EnvironmentSpec& environment, const TableBatches& batches) {
    if (const auto newest = batches.find(kNewestRewards); newest != batches.end()) {
      return newest->second.at(environment.rewards[0].name).mean(0);
    }
    Tensor sum, count;
    for (const auto& [table, batch] : batches) {
      const Steps steps = StepsOf(environment, batch);
      sum = sum.defined() ? sum + steps.reward.sum(0) : steps.reward.sum(0);
      count = count.defined() ? count + steps.counts.sum() : steps.counts.sum();
    }
    return sum / count.clamp_min(1);
  }

  const LagrangianOptions options_;
  std::vector<Scalar*> numbers_;  // By bound.
};

}  // namespace

ModuleImplementation lagrangian_module_implementation() {
  return ImplementModule<Lagrangian, LagrangianOptions>();
}

}  // namespace waggle
