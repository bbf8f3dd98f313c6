#include "common/rl/algorithms/bc/bc.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {
namespace {

class Bc : public Algorithm {
 public:
  Bc(const BcOptions& options, Model* model) : options_(options), policy_(model->net("policy")) {}

  // Descends -log pi(a|s), which is also an item's priority if it is above 0.
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, /*discount=*/1, options_.ImportanceExponentAt(context->progress()));
    const torch::Tensor log_prob = policy_(t.observation).policy().LogProb(t.action);
    context->Descend(-(t.weight * log_prob).mean(), policy_.group());
    context->SetPriorities((-log_prob).clamp_min(0));
  }

 private:
  const BcOptions options_;
  Net& policy_;
};

}  // namespace

AlgorithmImplementation bc_implementation() {
  return Implement<Bc, BcOptions>();
}

}  // namespace waggle
