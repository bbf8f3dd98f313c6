#include "common/rl/acting/parameter_noise.h"

#include <utility>

#include "common/config/plan/head_kinds.h"
#include "common/rl/kit/net.h"

namespace waggle {

ParameterNoise::ParameterNoise(const ExplorationOptions& options, const Network* clean, std::unique_ptr<Network> noisy,
                               const HeadPlan* head)
    : options_(options),
      clean_(clean),
      noisy_(std::move(noisy)),
      head_(head),
      deviation_(options.parameter_deviation) {}

double ParameterNoise::Distance(const Observations& rows) const {
  const Output wanted = Forward(*clean_, rows);
  const Output got = Forward(*noisy_, rows);
  if (!GivesChoicesValues(head_->kind)) {
    return (wanted.policy(head_->name).Mode() - got.policy(head_->name).Mode()).square().mean().sqrt().item<double>();
  }
  const torch::Tensor log_wanted = wanted.q(head_->name).log_softmax(-1);
  const torch::Tensor log_got = got.q(head_->name).log_softmax(-1);
  return (log_wanted.exp() * (log_wanted - log_got)).sum(-1).mean().item<double>();
}

const Network& ParameterNoise::Next(const Observations& rows, Noise* noise) {
  if (noise_.defined() && ++steps_ < options_.parameter_steps) {
    return *noisy_;
  }
  if (noise_.defined()) {
    deviation_ *=
        Distance(rows) < options_.parameter_distance ? options_.parameter_factor : 1 / options_.parameter_factor;
  }
  noise_ = noise->NormalLike(clean_->parameters().values().narrow(0, 0, clean_->plan().num_learned));
  steps_ = 0;
  FollowClean();
  return *noisy_;
}

void ParameterNoise::FollowClean() {
  if (!noise_.defined()) {
    return;
  }
  torch::Tensor values = noisy_->parameters().values();
  values.copy_(clean_->parameters().values());
  values.narrow(0, 0, noise_.numel()).add_(noise_, deviation_);
}

}  // namespace waggle
