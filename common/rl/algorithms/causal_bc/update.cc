#include "absl/strings/str_cat.h"
#include "common/rl/algorithms/causal_bc/causal_bc.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/kit/returns/advantages.h"

namespace waggle {
namespace {

using torch::Tensor;

class CausalBc : public Algorithm {
 public:
  CausalBc(const CausalBcOptions& options, Model* model)
      : options_(options), policy_(model->net("policy")), residual_(model->net("residual")) {}

  // A game of two players (section 4 of the paper): f predicts the policy's error from the state before, and the policy
  // leaves it nothing to predict.
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, /*discount=*/1, options_.ImportanceExponentAt(context->progress()));
    const TensorBatch& batch = batches.only();
    // [rows]: false if the step ends its episode, so that no action follows.
    const Tensor acts = (t.bootstrap != 0) & (batch.at(kNextStepType) != static_cast<int64_t>(StepType::kLast));
    Observations next;
    for (const Tensor& leaf : t.next_observation) {
      next.push_back(ZerosElsewhere(acts, leaf));
    }
    const Tensor demonstrated = JointActions(batches.environment(), 1, [&](const std::string& name) {
      return ZerosElsewhere(acts, batch.at(absl::StrCat(kNextActionPrefix, name)));
    });
    const Tensor error = demonstrated - policy_(next).action();
    const Tensor predicted = residual_(t.observation).vector("residual");

    const Tensor of_policy = 2 * error * predicted.detach() + options_.cloning_weight * error.square();
    context->Descend(MaskedMean(t.weight * of_policy.sum(-1), acts), policy_.group());
    const Tensor of_residual = predicted.square() - 2 * error.detach() * predicted;
    const Tensor size = predicted.norm(2, -1);
    context->Descend(MaskedMean(t.weight * (of_residual.sum(-1) + options_.residual_penalty * size), acts),
                     residual_.group());
    const Tensor squared = ZerosElsewhere(acts, error.detach().square().sum(-1));
    context->SetPriorities(squared);
    context->Report("squared_error", MaskedMean(squared, acts));
  }

 private:
  const CausalBcOptions options_;
  Net& policy_;
  Net& residual_;
};

}  // namespace

AlgorithmImplementation causal_bc_implementation() {
  return Implement<CausalBc, CausalBcOptions>();
}

}  // namespace waggle
