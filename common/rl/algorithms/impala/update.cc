#include <cmath>

#include "common/rl/algorithms/actor_critic/step.h"
#include "common/rl/algorithms/impala/impala.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/returns/off_policy_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class Impala : public Algorithm {
 public:
  Impala(const ImpalaOptions& options, Model* model) : options_(options), step_(options, model) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Unrolls u = UnrollsOf(batches, options_.discount);
    const ActorCriticStep::Pass pass = step_.Forward(u, context);
    // Another policy acted.
    const Tensor log_ratio = torch::where(u.counts, (pass.log_prob - u.Column("log_prob")).detach(), 0.0);
    const Advantages vtrace = VTrace({options_.rho_clip, options_.c_clip, options_.lambda}, log_ratio, pass.reward,
                                     u.discount, pass.value.detach(), u.last);
    step_.Descend(u, pass, vtrace, context);
    context->Report("ratio_mean", MaskedMean(log_ratio.exp(), u.counts));
    const Tensor clipped = (log_ratio > std::log(options_.rho_clip)).to(log_ratio.scalar_type());
    context->Report("clip_fraction", MaskedMean(clipped, u.counts));
  }

  void VisitState(StateVisitor* visitor) override { step_.VisitState(visitor); }

 private:
  const ImpalaOptions options_;
  ActorCriticStep step_;
};

}  // namespace

AlgorithmImplementation impala_implementation() {
  return Implement<Impala, ImpalaOptions>();
}

}  // namespace waggle
