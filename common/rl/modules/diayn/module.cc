#include <cmath>

#include "common/rl/modules/diayn/diayn.h"
#include "common/rl/modules/implementations.h"
#include "common/rl/modules/intrinsic/steps.h"

namespace waggle {
namespace {

using torch::Tensor;

class Diayn : public Module {
 public:
  Diayn(const DiaynOptions& options, Model* model)
      : discriminator_(model->net(kDiaynDiscriminator)),
        skill_(LeafIndex(model->environment(), options.skill)),
        mixer_("diayn_bonus", options, model->device()) {}

  // bonus(z, s') = ln q(z | s') - ln p(z), for uniform p, by the discriminator q, which descends -ln q(z | s').
  void Rewrite(const EnvironmentSpec& environment, TableBatches* batches, UpdateContext* context) override {
    for (auto& [table, batch] : *batches) {
      const Steps steps = StepsOf(environment, batch);
      const Tensor& skill = steps.observation[skill_];
      const Tensor log_q = discriminator_(steps.next_observation).vector("skill").log_softmax(-1);
      const Tensor of_skill = log_q.gather(-1, skill.unsqueeze(-1)).squeeze(-1);
      context->Descend(MeanOfCounted(-of_skill, steps.counts), discriminator_.group());
      const Tensor right = log_q.argmax(-1) == skill;
      context->Report("diayn_accuracy", MeanOfCounted(right.to(log_q.scalar_type()), steps.counts));
      mixer_.Mix(environment, steps, of_skill + std::log(static_cast<double>(log_q.size(-1))), &batch, context);
    }
  }

  void VisitState(StateVisitor* visitor) override { mixer_.VisitState(visitor); }

 private:
  static size_t LeafIndex(const EnvironmentSpec& environment, const std::string& name) {
    size_t index = 0;
    while (environment.observations[index].array.name != name) {  // The definition has found it.
      ++index;
    }
    return index;
  }

  Net& discriminator_;
  const size_t skill_;
  RewardMixer mixer_;
};

}  // namespace

ModuleImplementation diayn_module_implementation() {
  return ImplementModule<Diayn, DiaynOptions>();
}

}  // namespace waggle
