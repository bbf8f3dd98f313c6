#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/ppo/policy_phase.h"

namespace waggle {
namespace {

class Ppo : public Algorithm {
 public:
  Ppo(const PpoOptions& options, Model* model) : options_(options), phase_(options, model) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    phase_.Run(UnrollsOf(batches, options_.discount), context);
  }
  void VisitState(StateVisitor* visitor) override { phase_.VisitState(visitor); }

 private:
  const PpoOptions options_;
  PolicyPhase phase_;
};

}  // namespace

AlgorithmImplementation ppo_implementation() {
  return Implement<Ppo, PpoOptions>();
}

}  // namespace waggle
