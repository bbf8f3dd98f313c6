#include "common/rl/modules/implementations.h"
#include "common/rl/modules/intrinsic/steps.h"
#include "common/rl/modules/rnd/rnd.h"

namespace waggle {
namespace {

using torch::Tensor;

class Rnd : public Module {
 public:
  Rnd(const RndOptions& options, Model* model)
      : target_(model->net(kRndTarget)),
        predictor_(model->net(kRndPredictor)),
        mixer_("rnd_bonus", options, model->device()) {}

  // bonus(s') = mean over features of (predictor(s') - target(s'))^2, which the predictor descends.
  void Rewrite(const EnvironmentSpec& environment, TableBatches* batches, UpdateContext* context) override {
    for (auto& [table, batch] : *batches) {
      const Steps steps = StepsOf(environment, batch);
      Tensor features;
      {
        const torch::NoGradGuard no_grad;
        features = target_(steps.next_observation).vector("features");
      }
      const Tensor error = (predictor_(steps.next_observation).vector("features") - features).square().mean(-1);
      context->Descend(MeanOfCounted(error, steps.counts), predictor_.group());
      mixer_.Mix(environment, steps, error, &batch, context);
    }
  }

  void VisitState(StateVisitor* visitor) override { mixer_.VisitState(visitor); }

 private:
  Net& target_;
  Net& predictor_;
  RewardMixer mixer_;
};

}  // namespace

ModuleImplementation rnd_module_implementation() {
  return ImplementModule<Rnd, RndOptions>();
}

}  // namespace waggle
