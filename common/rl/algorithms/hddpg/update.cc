#include "common/rl/algorithms/deterministic_actor_critic/update.h"

#include "common/rl/algorithms/ddpg/policy.h"
#include "common/rl/algorithms/hddpg/hddpg.h"
#include "common/rl/algorithms/implementations.h"

namespace waggle {
namespace {

class Hddpg : public DeterministicActorCritic {
 public:
  Hddpg(const HddpgOptions& options, Model* model) : DeterministicActorCritic(options, model), options_(options) {}

 private:
  // A negative error is of a value that must grow.
  torch::Tensor ErrorLoss(const torch::Tensor& error) const override {
    const torch::Tensor increase = torch::full_like(error, options_.increase_rate);
    const torch::Tensor decrease = torch::full_like(error, options_.decrease_rate);
    return torch::where(error < 0, increase, decrease) * error.square();
  }

  const HddpgOptions options_;
};

}  // namespace

AlgorithmImplementation hddpg_implementation() {
  return ImplementWithPolicy<Hddpg, DdpgPolicy, HddpgOptions>();
}

}  // namespace waggle
