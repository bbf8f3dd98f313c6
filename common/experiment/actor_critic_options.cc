#include "common/experiment/actor_critic_options.h"

namespace waggle {

void ActorCriticOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("unroll", &unroll, In(1, 100'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Double("lambda", &lambda, In(0, 1));
  visitor.Double("value_weight", &value_weight, In(0, 1e6));
  visitor.Bool("normalize_returns", &normalize_returns);
  visitor.Bool("normalize_advantages", &normalize_advantages);
  visitor.Section("entropy", &entropy);
  visitor.Section("optimizer", &optimizer);
}

}  // namespace waggle
