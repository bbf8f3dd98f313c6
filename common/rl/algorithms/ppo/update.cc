#include <algorithm>
#include <vector>

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/ppo/ppo.h"
#include "common/rl/entropy_bonus.h"
#include "common/rl/return_scale.h"
#include "common/rl/returns/advantages.h"

namespace waggle {
namespace {

using torch::Tensor;

// What is learned from, [T, rows, …]: rows are what minibatches are made of.
struct Samples {
  Observations observation;
  Tensor first, action, log_prob, value, advantage, value_target, counts;
  Tensor core_state;  // [rows, values], or undefined.

  template <class Change>
  Samples With(const Change& change) const {
    Samples changed = *this;
    for (Tensor& leaf : changed.observation) {
      leaf = change(leaf);
    }
    for (Tensor* field : {&changed.first, &changed.action, &changed.log_prob, &changed.value, &changed.advantage,
                          &changed.value_target, &changed.counts}) {
      *field = change(*field);
    }
    return changed;
  }

  // Every step as a row of its own.
  Samples Flattened() const {
    return With([](const Tensor& field) { return field.flatten(0, 1).unsqueeze(0); });
  }

  Samples Rows(const Tensor& rows) const {
    Samples chosen = With([&rows](const Tensor& field) { return field.index_select(1, rows); });
    chosen.core_state = core_state.defined() ? core_state.index_select(0, rows) : core_state;
    return chosen;
  }
};

class Ppo : public Algorithm {
 public:
  Ppo(const PpoOptions& options, Model* model)
      : options_(options),
        net_(model->net("actor_critic")),
        entropy_(options.entropy, model),
        scale_(options.normalize_returns, model->device()) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Samples all = Prepare(UnrollsOf(batches, options_.discount));
    const int64_t rows = all.counts.size(1);
    const int64_t parts = std::min(options_.minibatches, rows);  // What is too old is left out of a batch.
    for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
      for (const Tensor& chosen : context->noise()->Permutation(rows).tensor_split(parts)) {
        if (!Learn(all.Rows(chosen), context)) {
          return;
        }
      }
    }
  }

  void VisitState(StateVisitor* visitor) override { scale_.VisitState(visitor); }

 private:
  // Values and advantages are those of the weights before the first pass.
  Samples Prepare(const Unrolls& u) {
    const torch::NoGradGuard no_grad;
    const Tensor value = net_.Unroll(u.observation, u.first, u.core_state).value();
    const Tensor reward = scale_.Rewards(u, value, options_.lambda);
    const Advantages gae = GeneralizedAdvantages(reward, u.discount, value, u.last, options_.lambda);
    Samples samples;
    for (const Tensor& leaf : u.observation) {
      samples.observation.push_back(Unrolls::Steps(leaf));
    }
    samples.first = Unrolls::Steps(u.first);
    samples.action = Unrolls::Steps(u.action);
    samples.log_prob = u.Column("log_prob");
    samples.value = Unrolls::Steps(value);
    samples.advantage = gae.advantage;
    samples.value_target = gae.value_target;
    samples.counts = u.counts;
    samples.core_state = u.core_state;
    // A policy with memory is learned from whole unrolls.
    return u.core_state.defined() ? samples : samples.Flattened();
  }

  // One step on a minibatch. False once the policy is too far from the one that acted.
  bool Learn(const Samples& s, UpdateContext* context) const {
    const double clip = options_.clip.At(context->progress());
    const Output out = net_.Unroll(s.observation, s.first, s.core_state);
    const Distribution policy = out.policy();
    const Tensor log_ratio = torch::where(s.counts, policy.LogProb(s.action) - s.log_prob, 0.0);
    const Tensor ratio = log_ratio.exp();
    // An estimate of KL(acted || now) that is never negative (Schulman, "Approximating KL divergence", 2020).
    const Tensor divergence = MaskedMean((ratio - 1 - log_ratio).detach(), s.counts);
    context->Report("divergence", divergence);
    if (options_.max_divergence.has_value() && divergence.item<double>() > *options_.max_divergence) {
      return false;
    }
    // (7): the smaller of the two, so that nothing is gained outside of the clip.
    const Tensor advantage = options_.normalize_advantages ? Standardized(s.advantage, s.counts) : s.advantage;
    const Tensor surrogate = torch::min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage);
    const Tensor entropy = MaskedMean(policy.Entropy(), s.counts);
    const Tensor loss = MaskedMean(options_.value_weight * ValueLoss(out.value(), s) - surrogate, s.counts);
    context->Descend(loss - entropy_.Weight(*context, loss) * entropy, net_.group());
    entropy_.Learn(entropy, context);
    context->Report("entropy", entropy);
    context->Report("clip_fraction", MaskedMean(((ratio - 1).abs() > clip).to(ratio.scalar_type()), s.counts));
    return context->status().ok();
  }

  Tensor ValueLoss(const Tensor& value, const Samples& s) const {
    const Tensor error = (value - s.value_target).square();
    if (!options_.value_clip.has_value()) {
      return error;
    }
    const Tensor clipped = s.value + (value - s.value).clamp(-*options_.value_clip, *options_.value_clip);
    return torch::max(error, (clipped - s.value_target).square());
  }

  const PpoOptions options_;
  Net& net_;
  const EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace

AlgorithmImplementation ppo_implementation() {
  return Implement<Ppo, PpoOptions>();
}

}  // namespace waggle
