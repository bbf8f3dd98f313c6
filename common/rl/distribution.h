#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/nn/torch.h"
#include "common/rl/noise.h"

namespace waggle {

// An action that was drawn, and the logarithm of its probability or density.
struct SampledAction {
  torch::Tensor action;    // As Distribution says of its kind.
  torch::Tensor log_prob;  // [...]; undefined where nothing is drawn (Deterministic).
};

// What may be chosen by a mask, bool [..., choices]: a row in which nothing is legal is as if everything were.
torch::Tensor Legal(const torch::Tensor& mask);

class DistributionForm;

// Distributions over actions, one for each of any leading dimensions ([rows], [members, rows], [T, rows]), which stand
// as [...] below. A value: copies share what is immutable. Parameters are float32 or float64.
//
// No shapes are broadcast: what does not fit is a c10::Error that says what was got and what was wanted. So is an
// operation that a kind does not have. Pure but for Sample.
class Distribution {
 public:
  // One of `choices`: logits [..., choices], actions int64 [...]. `mask`: bool, of the logits' shape, true where a
  // choice is legal; the others have probability 0, whatever their logits, which get no gradient. A row in which none
  // is legal is as if all were.
  static Distribution Categorical(torch::Tensor logits, torch::Tensor mask = {});

  // Several independent choices, the i-th one of num_values[i]: logits and mask [..., sum of num_values], actions int64
  // [..., num_values.size()]. Log-probabilities, entropies and divergences are sums over them. A choice of which no
  // value is legal is as if all were.
  static Distribution MultiCategorical(torch::Tensor logits, std::vector<int64_t> num_values, torch::Tensor mask = {});

  // Independent normal dimensions: mean, log_std and actions [..., dimensions], summed over likewise.
  static Distribution Normal(torch::Tensor mean, torch::Tensor log_std);

  // a = tanh(u), u normal with these parameters: actions in [-1, 1], [..., dimensions] (arXiv 1801.01290, appendix C).
  static Distribution TanhNormal(torch::Tensor mean, torch::Tensor log_std);

  // Independent choices as of MultiCategorical, and beside them normal dimensions as of Normal: actions [...,
  // num_values.size() + dimensions] of the mean's element type, in which choices are whole numbers.
  static Distribution Mixed(torch::Tensor logits, std::vector<int64_t> num_values, torch::Tensor mask,
                            torch::Tensor mean, torch::Tensor log_std);

  // Always this action, of any type. It has no density: LogProb, Entropy and DivergenceFrom are errors.
  static Distribution Deterministic(torch::Tensor action);

  // Continuous actions are reparameterised: gradients of the action and of log_prob flow through the draw. For
  // gradients of the score alone, ask for LogProb(action.detach()).
  SampledAction Sample(Noise* noise) const;

  // The most likely action; of the tanh-normal, tanh of the mean, which is its median.
  torch::Tensor Mode() const;

  // [...]. The tanh-normal takes actions at the ends of its interval for the last numbers before them, so extreme ones,
  // beyond u = 8 in float32, are better kept with the log_prob that Sample gave them. A choice that is not legal: the
  // same as in LogProbabilities.
  torch::Tensor LogProb(const torch::Tensor& action) const;

  // [...], in nats. The tanh-normal has no closed form: an error that says to use -log_prob of a sample.
  torch::Tensor Entropy() const;

  // The Kullback-Leibler divergence KL(other || this) = E_{a ~ other}[log other(a) - log this(a)], [...]: with the
  // policy that acted as `other`, how far this one has moved from it. Both are of one kind and shape. The tanh-normal's
  // is that of the normals before it, which is the same.
  torch::Tensor DivergenceFrom(const Distribution& other) const;

  // Categorical only: [..., choices]. Choices that are not legal have -1e9, so that p log p is 0, and gradients finite.
  torch::Tensor LogProbabilities() const;

 private:
  explicit Distribution(std::shared_ptr<const DistributionForm> form) : form_(std::move(form)) {}

  std::shared_ptr<const DistributionForm> form_;
};

}  // namespace waggle
