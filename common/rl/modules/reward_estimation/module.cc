#include "common/rl/modules/implementations.h"
#include "common/rl/modules/intrinsic/steps.h"
#include "common/rl/modules/reward_estimation/reward_estimation.h"

namespace waggle {
namespace {

using torch::Tensor;

// reward <- (1 - weight) * reward + weight * estimate.
IntrinsicOptions Mixture(double weight) {
  IntrinsicOptions options;
  options.weight = weight;
  options.extrinsic_weight = 1 - weight;
  options.normalize = false;
  return options;
}

class RewardEstimation : public Module {
 public:
  RewardEstimation(const RewardEstimationOptions& options, Model* model)
      : model_(model->net(kRewardModel)), mixer_("reward_estimate", Mixture(options.weight), model->device()) {}

  // The model r̂(s, a) descends the mean of (r̂(s, a) - r)^2.
  void Rewrite(const EnvironmentSpec& environment, TableBatches* batches, UpdateContext* context) override {
    for (auto& [table, batch] : *batches) {
      const Steps steps = StepsOf(environment, batch, /*with_actions=*/true);
      const Tensor estimate = model_(steps.observation, steps.action).vector("reward").squeeze(-1);
      context->Descend(MeanOfCounted((estimate - steps.reward).square(), steps.counts), model_.group());
      mixer_.Mix(environment, steps, estimate, &batch, context);
    }
  }

  void VisitState(StateVisitor* visitor) override { mixer_.VisitState(visitor); }

 private:
  Net& model_;
  RewardMixer mixer_;
};

}  // namespace

ModuleImplementation reward_estimation_module_implementation() {
  return ImplementModule<RewardEstimation, RewardEstimationOptions>();
}

}  // namespace waggle
