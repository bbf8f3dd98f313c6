#include "common/rl/algorithms/td3/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/td3_bc/td3_bc.h"

namespace waggle {
namespace {

class Td3Bc : public Td3 {
 public:
  Td3Bc(const Td3BcOptions& options, Model* model) : Td3(options, model), options_(options) {}

 private:
  // (5) of the paper, with the mean size of recorded actions' values.
  torch::Tensor ActorLoss(const Transitions& t, const torch::Tensor& q, const torch::Tensor& action,
                          const torch::Tensor& taken) const override {
    const torch::Tensor size = Value(t.observation, taken).detach().abs().mean();
    const torch::Tensor scale = options_.value_weight / size.clamp_min(1e-8);
    return (action - taken).square().mean(-1) - scale * q;
  }

  const Td3BcOptions options_;
};

}  // namespace

AlgorithmImplementation td3_bc_implementation() {
  return Implement<Td3Bc, Td3BcOptions>();
}

}  // namespace waggle
