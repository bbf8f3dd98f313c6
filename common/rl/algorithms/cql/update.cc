#include "common/rl/algorithms/sac/update.h"

#include <cmath>
#include <vector>

#include "common/rl/algorithms/cql/cql.h"
#include "common/rl/algorithms/implementations.h"

namespace waggle {
namespace {

using torch::Tensor;

// `count` copies, side by side: [count, rows, …] a leaf.
Observations Copies(const Observations& observation, int64_t count) {
  Observations copies;
  for (const Tensor& leaf : observation) {
    std::vector<int64_t> shape = leaf.sizes().vec();
    shape.insert(shape.begin(), count);
    copies.push_back(leaf.unsqueeze(0).expand(shape));
  }
  return copies;
}

class Cql : public Sac {
 public:
  Cql(const CqlOptions& options, Model* model) : Sac(options, model), options_(options) {}

 private:
  // (4) of the paper: log sum over all actions of exp Q(s, a), less the recorded action's value, of every critic.
  Tensor CriticTerm(const SoftRows& rows, const Tensor& taken, UpdateContext* context) const override {
    const Tensor gap = critic().network().plan().takes_action ? LogSumOfReals(rows, context) - taken
                                                              : critic()(rows.observation).q().logsumexp(-1) - taken;
    context->Report("conservative_gap", gap.detach());
    return options_.conservative_weight * gap.sum(0).mean();
  }

  // By importance sampling, half from a uniform distribution and half from the policy (appendix F), [critics, rows].
  Tensor LogSumOfReals(const SoftRows& rows, UpdateContext* context) const {
    const int64_t count = options_.sampled_actions;
    SampledAction drawn;
    {
      const torch::NoGradGuard no_grad;
      drawn = actor()(rows.observation).policy().Samples(count, context->noise());
    }
    const Tensor uniform = context->noise()->UniformLike(drawn.action) * 2 - 1;
    const double density = -std::log(2.0) * static_cast<double>(uniform.size(-1));
    const Observations copies = Copies(rows.observation, 2 * count);
    const Tensor q = critic()(copies, torch::cat({uniform, drawn.action})).value();  // [critics, 2 count, rows].
    const Tensor densities = torch::cat({torch::full_like(drawn.log_prob, density), drawn.log_prob});
    return (q - densities).logsumexp(1) - std::log(2.0 * static_cast<double>(count));
  }

  const CqlOptions options_;
};

}  // namespace

AlgorithmImplementation cql_implementation() {
  return Implement<Cql, CqlOptions>();
}

}  // namespace waggle
