#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/nn/torch.h"
#include "common/rl/kit/noise.h"

namespace waggle {

// A drawn action and the logarithm of its probability or density.
struct SampledAction {
  torch::Tensor action;    // As the distribution's kind defines.
  torch::Tensor log_prob;  // [...]; undefined if nothing is drawn (Deterministic).
};

// `mask`, bool [..., choices], with all choices legal in rows without a legal one.
torch::Tensor Legal(const torch::Tensor& mask);

// Parameters of a distribution in which its Fisher information is diagonal, [..., n], and that diagonal, of the same
// shape and constant.
struct FisherBlock {
  torch::Tensor parameters, information;
};

class DistributionForm;

// Distributions over actions, one for each index of any leading dimensions ([rows], [members, rows], [T, rows]),
// written as [...] below. Copies share immutable data. Parameters are float32 or float64.
//
// Shapes are not broadcast. Wrong ones, and operations that a kind lacks, are a c10::Error. Pure except for Sample.
class Distribution {
 public:
  // One of `choices`: logits [..., choices], actions int64 [...]. `mask`, bool of the logits' shape, is true for legal
  // choices. Others have probability 0 and no gradient. All are legal in a row without a legal one.
  static Distribution Categorical(torch::Tensor logits, torch::Tensor mask = {});

  // Several independent choices, the i-th of num_values[i]: logits and mask [..., sum of num_values], actions int64
  // [..., num_values.size()]. Log-probabilities, entropies and divergences are sums. Choices without a legal value
  // allow all.
  static Distribution MultiCategorical(torch::Tensor logits, std::vector<int64_t> num_values, torch::Tensor mask = {});

  // Independent normal dimensions: mean, log_std and actions [..., dimensions], summed likewise.
  static Distribution Normal(torch::Tensor mean, torch::Tensor log_std);

  // a = tanh(u) for normal u: actions in [-1, 1], [..., dimensions] (arXiv 1801.01290, appendix C).
  static Distribution TanhNormal(torch::Tensor mean, torch::Tensor log_std);

  // Choices as in MultiCategorical, then dimensions as in Normal: actions [..., num_values.size() + dimensions] of the
  // mean's type. Choices are whole numbers.
  static Distribution Mixed(torch::Tensor logits, std::vector<int64_t> num_values, torch::Tensor mask,
                            torch::Tensor mean, torch::Tensor log_std);

  // Always this action, of any type. LogProb, Entropy and DivergenceFrom are errors: it has no density.
  static Distribution Deterministic(torch::Tensor action);

  // Continuous actions are reparameterised: gradients of action and log_prob flow through the draw.
  // LogProb(action.detach()) has the score's gradient alone.
  SampledAction Sample(Noise* noise) const;

  // `count` draws, side by side: [count, ...].
  SampledAction Samples(int64_t count, Noise* noise) const;

  // The means and standard deviations of real elements, [..., dimensions]; the tanh-normal's are the normal's, before
  // tanh. A deterministic action is its own mean. Errors for choices alone.
  torch::Tensor mean() const;
  torch::Tensor stddev() const;

  // The most likely action. For the tanh-normal tanh of the mean, its median.
  torch::Tensor Mode() const;

  // [...]. The tanh-normal replaces the ends of its interval by the closest numbers inside, so for extreme actions
  // (beyond u = 8 in float32) Sample's log_prob is better. For an illegal choice as in LogProbabilities. For a number
  // that is no choice at all, in some element, NaN: a loss that uses it is not finite, which the update reports.
  torch::Tensor LogProb(const torch::Tensor& action) const;

  // [...], in nats. The tanh-normal has no closed form: the error recommends -log_prob of a sample.
  torch::Tensor Entropy() const;

  // The Kullback-Leibler divergence KL(other || this) = E_{a ~ other}[log other(a) - log this(a)], [...]: how far this
  // policy has moved from the acting one, `other`, of the same kind and shape. The tanh-normal's equals its normals'.
  torch::Tensor DivergenceFrom(const Distribution& other) const;

  // The Fisher information of all parameters: of the logarithms of choices' probabilities these probabilities, of a
  // normal's means 1 / stddev^2, of the logarithms of its deviations 2. The information of a network's weights is
  // J^T diag(information) J, with J the derivatives of `parameters`.
  std::vector<FisherBlock> Fisher() const;

  // Categorical only: [..., choices]. Illegal choices have -1e9, so that p log p is 0 and gradients are finite.
  torch::Tensor LogProbabilities() const;

 private:
  explicit Distribution(std::shared_ptr<const DistributionForm> form) : form_(std::move(form)) {}

  std::shared_ptr<const DistributionForm> form_;
};

}  // namespace waggle
