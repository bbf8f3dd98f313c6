#include "common/rl/modules/icm/icm.h"
#include "common/rl/modules/implementations.h"
#include "common/rl/modules/intrinsic/steps.h"

namespace waggle {
namespace {

using torch::Tensor;

class Icm : public Module {
 public:
  Icm(const IcmOptions& options, Model* model)
      : features_(model->net(kIcmFeatures)),
        inverse_(model->net(kIcmInverse)),
        forward_(model->net(kIcmForward)),
        mixer_("icm_bonus", options, model->device()) {}

  // phi and the inverse model descend -ln p(a | phi(s), phi(s')), and the forward model its squared error, which is
  // also the bonus. Features do not follow the forward model: it could make them constant.
  void Rewrite(const EnvironmentSpec& environment, TableBatches* batches, UpdateContext* context) override {
    for (auto& [table, batch] : *batches) {
      const Steps steps = StepsOf(environment, batch, /*with_actions=*/true);
      Tensor before, after;
      {
        const torch::NoGradGuard no_grad;
        before = Features(steps.observation);
        after = Features(steps.next_observation);
      }
      // First: its loss is not finite for a choice that does not exist, which the forward model cannot take.
      context->Descend(InverseLoss(steps, before, after), inverse_.group());
      context->Descend(InverseLoss(steps, Features(steps.observation), Features(steps.next_observation)),
                       features_.group());
      if (!context->status().ok()) {
        return;
      }
      const Tensor error =
          (forward_(steps.observation, steps.action, {before}).vector("features") - after).square().mean(-1) / 2;
      context->Descend(MeanOfCounted(error, steps.counts), forward_.group());
      mixer_.Mix(environment, steps, error, &batch, context);
    }
  }

  void VisitState(StateVisitor* visitor) override { mixer_.VisitState(visitor); }

 private:
  Tensor Features(const Observations& observations) const { return features_(observations).vector("features"); }
  Tensor InverseLoss(const Steps& steps, const Tensor& before, const Tensor& after) const {
    return MeanOfCounted(-inverse_(steps.observation, {}, {before, after}).policy("action").LogProb(steps.action),
                         steps.counts);
  }

  Net& features_;
  Net& inverse_;
  Net& forward_;
  RewardMixer mixer_;
};

}  // namespace

ModuleImplementation icm_module_implementation() {
  return ImplementModule<Icm, IcmOptions>();
}

}  // namespace waggle
