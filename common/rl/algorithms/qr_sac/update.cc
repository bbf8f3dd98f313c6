#include "common/rl/algorithms/quantile_actor_critic/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/qr_sac/qr_sac.h"

namespace waggle {
namespace {

using torch::Tensor;

class QrSac : public QuantileActorCritic {
 public:
  QrSac(const QrSacOptions& options, Model* model)
      : QuantileActorCritic(options, model), each_(options.least == "quantile") {}

 private:
  Tensor Target(const Tensor& quantiles) const override { return Least(quantiles); }
  Tensor Climbed(const Tensor& quantiles) const override { return Least(quantiles); }

  Tensor Least(const Tensor& quantiles) const {
    if (each_) {
      return quantiles.amin(0);
    }
    const Tensor critic = quantiles.mean(2).argmin(0);  // [rows].
    return quantiles.gather(0, critic.view({1, -1, 1}).expand({1, quantiles.size(1), quantiles.size(2)})).squeeze(0);
  }

  const bool each_;
};

}  // namespace

AlgorithmImplementation qr_sac_implementation() {
  return Implement<QrSac, QrSacOptions>();
}

}  // namespace waggle
