#include "common/rl/algorithms/sac/soft_policy.h"

namespace waggle {
namespace {

class ContinuousPolicy final : public SoftPolicy {
 public:
  ContinuousPolicy(const SacOptions& options, const Net* actor) : target_(options.target_entropy), actor_(*actor) {}

  // Estimates by one drawn action a row.
  Expected Expect(const Network& critics, const Observations& observation, Noise* noise) const override {
    const SampledAction drawn = actor_(observation).policy().Sample(noise);
    const auto elements = static_cast<double>(drawn.action.size(-1));
    return {Forward(critics, observation, drawn.action).value().amin(0), -drawn.log_prob,
            torch::full({}, target_.value_or(-elements), drawn.log_prob.options())};
  }

  torch::Tensor Taken(const Network& critics, const Transitions& transitions) const override {
    return Forward(critics, transitions.observation, transitions.action).value();
  }

 private:
  const std::optional<double> target_;
  const Net& actor_;
};

}  // namespace

std::unique_ptr<SoftPolicy> NewContinuousPolicy(const SacOptions& options, const Net* actor) {
  return std::make_unique<ContinuousPolicy>(options, actor);
}

}  // namespace waggle
