#include "common/rl/algorithms/deterministic_actor_critic/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/td3/td3.h"

namespace waggle {
namespace {

using torch::Tensor;

class Td3 : public DeterministicActorCritic {
 public:
  Td3(const Td3Options& options, Model* model) : DeterministicActorCritic(options, model), options_(options) {}

  void VisitState(StateVisitor* visitor) override { visitor->Int("updates", &updates_); }

 private:
  // The critics' target is r + gamma^n min_i Q'_i(s', mu'(s') + noise).
  Tensor NextAction(const Tensor& action, Noise* noise) const override {
    const Tensor drawn = (noise->NormalLike(action) * options_.target_noise)
                             .clamp(-options_.target_noise_clip, options_.target_noise_clip);
    return (action + drawn).clamp(-1, 1);
  }

  // The first critic's value.
  Tensor Value(const Observations& observation, const Tensor& action) const override {
    return ValuesOf(NetView(&critic().network()), observation, action).select(0, 0);
  }

  bool ActorSteps() override { return ++updates_ % options_.policy_delay == 0; }

  const Td3Options options_;
  int64_t updates_ = 0;
};

}  // namespace

AlgorithmImplementation td3_implementation() {
  return Implement<Td3, Td3Options>();
}

}  // namespace waggle
