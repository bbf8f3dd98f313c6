#include <limits>

#include "common/config/spec/joint_action.h"
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
      const Tensor action = KnownActions(steps.action);
      const Tensor estimate = model_(steps.observation, action).vector("reward").squeeze(-1);
      const Tensor loss = MeanOfCounted((estimate - steps.reward).square(), steps.counts);
      // NaN if an action is outside its space, so that the update reports it.
      context->Descend(loss.masked_fill((action != steps.action).any(), std::numeric_limits<double>::quiet_NaN()),
                       model_.group());
      mixer_.Mix(environment, steps, estimate, &batch, context);
    }
  }

  void VisitState(StateVisitor* visitor) override { mixer_.VisitState(visitor); }

 private:
  // The actions, with choices outside their spaces replaced by the nearest ones inside.
  Tensor KnownActions(const Tensor& action) const {
    const JointAction& joint = model_.network().plan().action;
    if (joint.num_choosing() == 0) {
      return action;
    }
    const Tensor last = torch::tensor(joint.num_values, torch::kInt64).to(action.device()) - 1;
    if (joint.is_scalar) {
      return torch::minimum(action, last[0]).clamp_min(0);
    }
    const Tensor choices = action.narrow(-1, 0, joint.num_choosing());
    const Tensor reals = action.narrow(-1, joint.num_choosing(), joint.num_reals);
    return torch::cat({torch::minimum(choices, last.to(action.scalar_type())).clamp_min(0), reals}, -1);
  }

  Net& model_;
  RewardMixer mixer_;
};

}  // namespace

ModuleImplementation reward_estimation_module_implementation() {
  return ImplementModule<RewardEstimation, RewardEstimationOptions>();
}

}  // namespace waggle
