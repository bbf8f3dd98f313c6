#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rl/algorithms/actor_critic/step.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/ppg/ppg.h"
#include "common/rl/algorithms/ppo/policy_phase.h"
#include "common/rl/kit/returns/advantages.h"

namespace waggle {
namespace {

using torch::Tensor;

// Algorithm 1.
class Ppg : public Algorithm {
 public:
  Ppg(const PpgOptions& options, Model* model)
      : options_(options), net_(model->net("actor_critic")), device_(model->device()), policy_phase_(options, model) {
    nothing_.observation.resize(model->environment().observations.size());
    nothing_.columns["value_target"] = Tensor();
    kept_.assign(static_cast<size_t>(options.policy_phases), nothing_);
  }

  void Update(const Batches& batches, UpdateContext* context) override {
    UnrollSteps steps = policy_phase_.Run(UnrollsOf(batches, options_.discount), context);
    if (!context->status().ok()) {
      return;
    }
    // The scale moves until the auxiliary phase.
    steps.columns = {{"value_target", policy_phase_.return_scale().Unscaled(steps.at("value_target"), context)}};
    kept_[static_cast<size_t>(phases_)] = steps.Copy();
    if (++phases_ == options_.policy_phases) {
      AuxiliaryPhase(context);
    }
  }

  void VisitState(StateVisitor* visitor) override {
    visitor->Identity("policy_phases", absl::StrCat(options_.policy_phases));
    policy_phase_.VisitState(visitor);
    visitor->Int("phases", &phases_);
    for (size_t i = 0; i < kept_.size(); ++i) {
      visitor->Scope(absl::StrCat("kept", i), [&] { kept_[i].VisitState(visitor, device_); });
    }
  }

 private:
  struct Minibatch {
    UnrollSteps steps;
    Distribution policy;  // Before the phase.
  };

  void AuxiliaryPhase(UpdateContext* context) {
    const std::vector<Minibatch> minibatches = TakeMinibatches(context);
    for (int64_t epoch = 0; epoch < options_.auxiliary_epochs && context->status().ok(); ++epoch) {
      const Tensor order = context->noise()->Permutation(static_cast<int64_t>(minibatches.size())).cpu();
      for (int64_t i = 0; i < order.numel(); ++i) {
        Distil(minibatches[static_cast<size_t>(order[i].item<int64_t>())], context);
      }
    }
  }

  // The kept steps in minibatches as large as those of the policy phases. Nothing is kept any more.
  std::vector<Minibatch> TakeMinibatches(UpdateContext* context) {
    const torch::NoGradGuard no_grad;
    std::vector<Minibatch> minibatches;
    for (UnrollSteps& kept : kept_) {
      const int64_t rows = kept.counts.size(1);
      for (const Tensor& chosen :
           context->noise()->Permutation(rows).tensor_split(std::min(options_.minibatches, rows))) {
        UnrollSteps s = kept.Select(chosen);
        s.columns["value_target"] = policy_phase_.return_scale().Scaled(s.at("value_target"), context);
        const Distribution policy = net_.Unroll(s.observation, s.first, s.core_state).policy();
        minibatches.push_back({std::move(s), policy});
      }
      kept = nothing_;
    }
    phases_ = 0;
    return minibatches;
  }

  // L_joint + L_value, which have an optimizer in common.
  void Distil(const Minibatch& minibatch, UpdateContext* context) const {
    const UnrollSteps& s = minibatch.steps;
    const Output out = net_.Unroll(s.observation, s.first, s.core_state);
    const Tensor auxiliary = 0.5 * (out.value(kAuxiliaryValue) - s.at("value_target")).square();
    const Tensor value = 0.5 * SquaredError(out.values(), s.at("value_target"));
    const Tensor moved = out.policy().DivergenceFrom(minibatch.policy);
    context->Descend(MaskedMean(auxiliary + options_.clone_weight * moved + value, s.counts), net_.group());
    context->Report("auxiliary_loss", MaskedMean(auxiliary, s.counts));
    context->Report("auxiliary_divergence", MaskedMean(moved, s.counts));
  }

  const PpgOptions options_;
  Net& net_;
  const torch::Device device_;
  PolicyPhase policy_phase_;
  UnrollSteps nothing_;            // Undefined tensors under the names of the kept ones.
  std::vector<UnrollSteps> kept_;  // By policy phase; `nothing_` for those to come.
  int64_t phases_ = 0;
};

}  // namespace

AlgorithmImplementation ppg_implementation() {
  return Implement<Ppg, PpgOptions>();
}

}  // namespace waggle
