#include "common/rl/algorithms/sac/soft_policy.h"

namespace waggle {
namespace {

class ContinuousPolicy final : public SoftPolicy {
 public:
  ContinuousPolicy(const SacOptions& options, const Net* actor) : target_(options.target_entropy), actor_(*actor) {}

  // Estimates by one drawn action a row.
  Expected Expect(const Network& critics, const SoftRows& rows, Noise* noise) const override {
    const SampledAction drawn = actor_.Unroll(rows.observation, rows.first, rows.core_state).policy().Sample(noise);
    const auto elements = static_cast<double>(drawn.action.size(-1));
    return {CriticsOutput(critics, rows, drawn.action).value().amin(0), -drawn.log_prob,
            torch::full({}, target_.value_or(-elements), drawn.log_prob.options())};
  }

  torch::Tensor Taken(const Network& critics, const SoftRows& rows, const torch::Tensor& action) const override {
    return CriticsOutput(critics, rows, action).value();
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
