#include <cmath>

#include "common/rl/algorithms/impala/impala.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/entropy_bonus.h"
#include "common/rl/return_scale.h"
#include "common/rl/returns/advantages.h"
#include "common/rl/returns/off_policy_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class Impala : public Algorithm {
 public:
  Impala(const ImpalaOptions& options, Model* model)
      : options_(options),
        net_(model->net("actor_critic")),
        entropy_(options.entropy, model),
        scale_(options.normalize_returns, model->device()) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Unrolls u = UnrollsOf(batches, options_.discount);
    const Output out = net_.Unroll(u.observation, u.first, u.core_state);
    const Tensor value = out.value();
    const Tensor reward = scale_.Rewards(u, value, options_.lambda);
    const Distribution policy = out.policy();
    const Tensor log_prob = Unrolls::Steps(policy.LogProb(u.action));
    const Tensor log_ratio = torch::where(u.counts, (log_prob - u.Column("log_prob")).detach(), 0.0);
    const Advantages vtrace = VTrace({options_.rho_clip, options_.c_clip, options_.lambda}, log_ratio, reward,
                                     u.discount, value.detach(), u.last);
    const Tensor advantage =
        options_.normalize_advantages ? Standardized(vtrace.advantage, u.counts) : vtrace.advantage;
    const Tensor entropy = MaskedMean(Unrolls::Steps(policy.Entropy()), u.counts);
    const Tensor value_error = (Unrolls::Steps(value) - vtrace.value_target).square();
    const Tensor loss = MaskedMean(options_.value_weight * value_error - advantage * log_prob, u.counts);
    context->Descend(loss - entropy_.Weight(*context, loss) * entropy, net_.group());
    entropy_.Learn(entropy, context);
    context->Report("entropy", entropy);
    context->Report("value_mean", value);
    context->Report("ratio_mean", MaskedMean(log_ratio.exp(), u.counts));
    context->Report("clip_fraction",
                    MaskedMean((log_ratio > std::log(options_.rho_clip)).to(value.scalar_type()), u.counts));
  }

  void VisitState(StateVisitor* visitor) override { scale_.VisitState(visitor); }

 private:
  const ImpalaOptions options_;
  Net& net_;
  const EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace

AlgorithmImplementation impala_implementation() {
  return Implement<Impala, ImpalaOptions>();
}

}  // namespace waggle
