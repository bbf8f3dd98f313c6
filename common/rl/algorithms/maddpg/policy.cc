#include "common/rl/algorithms/maddpg/policy.h"

#include <utility>
#include <vector>

namespace waggle {

using torch::Tensor;

Tensor OfPolicy(const Tensor& numbers, const Tensor& policy) {
  if (numbers.size(0) == 1) {
    return numbers[0];
  }
  std::vector<int64_t> shape(static_cast<size_t>(numbers.dim()), 1);
  shape[1] = policy.size(0);
  std::vector<int64_t> one = numbers.sizes().vec();
  one[0] = 1;
  return numbers.gather(0, policy.view(shape).expand(one)).squeeze(0);
}

MaddpgPolicy::MaddpgPolicy(const MaddpgOptions& options, ActingNets nets)
    : AgentsPolicy(std::move(nets), "actor", options.share), policies_(options.policies) {
  for (const Agent& agent : agents()) {
    chosen_[agent.name] =
        torch::zeros({this->nets().slots}, torch::TensorOptions(torch::kInt64).device(this->nets().device));
  }
}

Tensor MaddpgPolicy::PoliciesOf(const Agent& agent, const ActingRows& rows) {
  Tensor& chosen = chosen_.at(agent.name);
  const Tensor before = chosen.index_select(0, rows.slots);
  if (policies_ == 1 || rows.greedy) {
    return before;
  }
  const Tensor probabilities = torch::full({before.size(0), policies_}, 1.0 / static_cast<double>(policies_),
                                           before.options().dtype(torch::kFloat32));
  const Tensor policy = torch::where(rows.first, rows.noise->Categorical(probabilities), before);
  chosen.index_copy_(0, rows.slots, policy);
  return policy;
}

Acted MaddpgPolicy::Decide(const Agent& agent, const ActingRows& rows) {
  const Output out = agent.net(rows.observation);
  const Tensor policy = PoliciesOf(agent, rows);
  Acted acted;
  acted.mask = out.mask();
  if (out.plan().heads[0].kind == HeadKind::kDeterministic) {
    acted.action = rows.greedy ? out.action().mean(0) : OfPolicy(out.action(), policy);
  } else {
    const Tensor logits = out.policy().LogProbabilities();
    const Distribution choice = Distribution::Categorical(
        rows.greedy ? logits.logsumexp(std::vector<int64_t>{0}) : OfPolicy(logits, policy), out.mask());
    acted.action = rows.greedy ? choice.Mode() : choice.Sample(rows.noise).action;
  }
  if (policies_ > 1 && !rows.greedy) {
    acted.columns[kPolicyColumn] = policy.to(torch::kFloat32);
  }
  return acted;
}

}  // namespace waggle
