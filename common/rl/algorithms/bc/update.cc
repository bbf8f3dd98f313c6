#include "common/rl/algorithms/bc/bc.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {
namespace {

class Bc : public Algorithm {
 public:
  Bc(const BcOptions& /*options*/, Model* model) : policy_(model->net("policy")) {}

  // Descends -log pi(a|s).
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, /*discount=*/1);
    const torch::Tensor log_prob = policy_(t.observation).policy().LogProb(t.action);
    context->Descend(-log_prob.mean(), policy_.group());
  }

 private:
  Net& policy_;
};

}  // namespace

AlgorithmImplementation bc_implementation() {
  return Implement<Bc, BcOptions>();
}

}  // namespace waggle
