#include <algorithm>
#include <cmath>
#include <utility>

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/mdq/mdq.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

// The numbers of an element, evenly spaced in [-1, 1].
class Bins {
 public:
  explicit Bins(int64_t count)
      : width_(2.0 / static_cast<double>(count - 1)), least_entropy_(0.25 * std::log(static_cast<double>(count))) {}

  Tensor Nearest(const Tensor& action) const { return ((action.clamp(-1, 1) + 1) / width_).round().to(torch::kInt64); }
  Tensor Action(const Tensor& bin, const Tensor& like) const { return bin.to(like.options()) * width_ - 1; }
  // The entropy of a quantised element whose real one has this entropy; at least a quarter of the most, because no
  // softmax has an entropy of 0.
  double Entropy(double real) const { return std::max(least_entropy_, real - std::log(width_)); }

 private:
  const double width_;
  const double least_entropy_;
};

// The network at some elements of actions [rows, elements], each given those before: outputs are [rows, count, …].
template <class AnyNet>
Output AtElements(const AnyNet& net, const Observations& observation, const Tensor& action, int64_t first,
                  int64_t count) {
  const Tensor next = torch::eye(action.size(1), action.options()).narrow(0, first, count);
  const Tensor before =
      torch::ones({action.size(1), action.size(1)}, action.options()).tril(-1).narrow(0, first, count);
  return net(observation, {}, {torch::cat({action.unsqueeze(1) * before, next.expand({action.size(0), -1, -1})}, -1)});
}

struct Drawn {
  Tensor action;   // [rows, elements].
  Tensor entropy;  // [rows]: of the policy along the drawn elements.
};

// One element after the other; without noise the most likely ones. `like` is [rows, elements].
template <class AnyNet>
Drawn Draw(const AnyNet& net, const Observations& observation, const Bins& bins, const Tensor& like, Noise* noise) {
  const torch::NoGradGuard no_grad;
  Drawn drawn{torch::zeros_like(like), torch::zeros_like(like.select(1, 0))};
  for (int64_t i = 0; i < like.size(1); ++i) {
    const Tensor logits = AtElements(net, observation, drawn.action, i, 1).vector("logits").select(1, 0);
    const Distribution policy = Distribution::Categorical(logits);
    const Tensor bin = noise == nullptr ? policy.Mode() : policy.Sample(noise).action;
    drawn.action.select(1, i).copy_(bins.Action(bin, like));
    drawn.entropy = drawn.entropy + policy.Entropy();
  }
  return drawn;
}

class Mdq : public Algorithm {
 public:
  Mdq(const MdqOptions& options, Model* model)
      : options_(options),
        bins_(options.bins),
        actor_(model->net("actor")),
        critic_(model->net("critic")),
        temperature_(options, model) {}

  // With the uniform policy U and KL(pi || U) = elements * log(bins) - entropy:
  //   critics  y = r + gamma (min_i Q'_i(s', a') - alpha KL(pi(. | s') || U)), a' ~ pi
  //   actor    V(s) + alpha log(pi(a | s) / U(a)) = min_i Q'_i(s, a), which holds for the best soft policy
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    const Tensor alpha = temperature_.Value(t.n_step_return);
    const double uniform = static_cast<double>(t.action.size(1)) * std::log(static_cast<double>(options_.bins));
    Tensor target, distilled, near;
    {
      const torch::NoGradGuard no_grad;
      const Drawn next = Draw(actor_, t.next_observation, bins_, t.action, context->noise());
      const Tensor q = critic_.target()(t.next_observation, next.action).value().amin(0);
      target = Bootstrapped(t.n_step_return, t.bootstrap, q - alpha * (uniform - next.entropy));
      near = bins_.Nearest(t.action + 2 * options_.distill_noise * context->noise()->NormalLike(t.action));
      distilled = critic_.target()(t.observation, bins_.Action(near, t.action)).value().amin(0);
    }
    const Tensor error = critic_(t.observation, t.action).value() - target;  // [critics, rows].
    const bool critics_stepped = context->Descend(0.5 * (t.weight * error.square()).mean(1).sum(), critic_.group());

    const Output out = AtElements(actor_, t.observation, bins_.Action(near, t.action), 0, t.action.size(1));
    const Tensor log_prob = Distribution::Categorical(out.vector("logits")).LogProb(near).sum(1);
    const Tensor q = out.value().select(1, 0) + alpha * (log_prob + uniform);
    context->Descend(0.5 * (t.weight * (q - distilled).square()).mean(), actor_.group());
    LearnTemperature(t, context);
    if (critics_stepped) {
      critic_.FollowTarget(options_.target_update_rate);
    }
    context->SetPriorities(error.abs().mean(0));
    context->Report("q_mean", distilled);
    context->Report("temperature", alpha);
  }

 private:
  void LearnTemperature(const Transitions& t, UpdateContext* context) const {
    const Tensor entropy = Draw(actor_, t.observation, bins_, t.action, context->noise()).entropy;
    const double target = static_cast<double>(t.action.size(1)) * bins_.Entropy(-1);
    temperature_.Learn(entropy, torch::full({}, options_.target_entropy.value_or(target), entropy.options()), context);
    context->Report("entropy", entropy);
  }

  const MdqOptions options_;
  const Bins bins_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
};

class MdqPolicy : public AlgorithmPolicy {
 public:
  MdqPolicy(const MdqOptions& options, ActingNets nets)
      : bins_(options.bins), nets_(std::move(nets)), elements_(nets_.net("actor").plan().action.num_reals) {}

  Acted Act(const ActingRows& rows) override {
    Acted acted;
    acted.action = Draw(nets_.net("actor"), rows.observation, bins_,
                        torch::empty({rows.slots.size(0), elements_}, nets_.device), rows.greedy ? nullptr : rows.noise)
                       .action;
    return acted;
  }

 private:
  const Bins bins_;
  const ActingNets nets_;
  const int64_t elements_;
};

}  // namespace

AlgorithmImplementation mdq_implementation() {
  return ImplementWithPolicy<Mdq, MdqPolicy, MdqOptions>();
}

}  // namespace waggle
