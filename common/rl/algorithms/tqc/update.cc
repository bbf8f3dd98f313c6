#include "common/rl/algorithms/quantile_actor_critic/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/tqc/tqc.h"

namespace waggle {
namespace {

using torch::Tensor;

class Tqc : public QuantileActorCritic {
 public:
  Tqc(const TqcOptions& options, Model* model)
      : QuantileActorCritic(options, model), kept_((options.quantiles - options.dropped) * options.critics) {}

 private:
  // (10), (11): all but the largest of all critics together.
  Tensor Target(const Tensor& quantiles) const override {
    return std::get<0>(Together(quantiles).topk(kept_, 1, /*largest=*/false, /*sorted=*/false));
  }
  // (14).
  Tensor Climbed(const Tensor& quantiles) const override { return Together(quantiles); }

  const int64_t kept_;
};

}  // namespace

AlgorithmImplementation tqc_implementation() {
  return Implement<Tqc, TqcOptions>();
}

}  // namespace waggle
