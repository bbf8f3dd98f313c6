#include "common/rl/algorithms/td3/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/td3_bc/td3_bc.h"

namespace waggle {
namespace {

class Td3Bc : public Td3 {
 public:
  Td3Bc(const Td3BcOptions& options, Model* model) : Td3(options, model), options_(options) {}

 private:
  // (5) of the paper.
  torch::Tensor ActorLoss(const torch::Tensor& q, const torch::Tensor& action,
                          const torch::Tensor& taken) const override {
    const torch::Tensor scale = options_.value_weight / q.detach().abs().mean().clamp_min(1e-8);
    return (action - taken).square().mean(-1) - scale * q;
  }

  const Td3BcOptions options_;
};

}  // namespace

AlgorithmImplementation td3_bc_implementation() {
  return Implement<Td3Bc, Td3BcOptions>();
}

}  // namespace waggle
