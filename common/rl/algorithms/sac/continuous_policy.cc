#include "common/rl/algorithms/sac/soft_policy.h"
#include "common/rl/algorithms/soft_prior/density.h"

namespace waggle {
namespace {

// The values that count least in each dimension of a vector reward, [members, rows, k + 1] to [rows, k + 1]: the
// largest ones if its weight is negative.
torch::Tensor Least(const torch::Tensor& values, const torch::Tensor& weights) {
  const torch::Tensor sign = torch::where(weights < 0, -torch::ones_like(weights), torch::ones_like(weights));
  return (values * sign).amin(0) * sign;
}

class ContinuousPolicy final : public SoftPolicy {
 public:
  ContinuousPolicy(const SacOptions& options, const Net* actor) : options_(options), actor_(*actor) {}

  // Estimates by one drawn action a row.
  Expected Expect(const Network& critics, const SoftRows& rows, Noise* noise) const override {
    const SampledAction drawn = actor_.Unroll(rows.observation, rows.first, rows.core_state).policy().Sample(noise);
    torch::Tensor entropy = -drawn.log_prob;
    if (options_.prior.is_given()) {
      entropy = entropy + LogPrior(options_.prior, drawn.action, rows.action_before, rows.first);
    }
    const torch::Tensor values = Taken(critics, rows, drawn.action);
    return {rows.reward_weights.defined() ? Least(values, rows.reward_weights) : values.amin(0), entropy,
            torch::full({}, options_.RealTarget(drawn.action.size(-1)), entropy.options())};
  }

  torch::Tensor Taken(const Network& critics, const SoftRows& rows, const torch::Tensor& action) const override {
    const Output output = CriticsOutput(critics, rows, action);
    return rows.reward_weights.defined() ? output.values() : output.value();
  }

 private:
  const SacOptions options_;
  const Net& actor_;
};

}  // namespace

std::unique_ptr<SoftPolicy> NewContinuousPolicy(const SacOptions& options, const Net* actor) {
  return std::make_unique<ContinuousPolicy>(options, actor);
}

}  // namespace waggle
