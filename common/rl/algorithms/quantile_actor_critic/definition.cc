#include "common/rl/algorithms/quantile_actor_critic/definition.h"

#include "absl/strings/str_cat.h"

namespace waggle {

void QuantileActorCriticOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 64));
  visitor.Int("quantiles", &quantiles, In(1, 2'000));
  SoftActorCriticOptions::Visit(visitor);
}

absl::Status QuantileActorCriticOptions::Validate() const {
  constexpr int64_t kMostQuantiles = 2'000;  // A loss compares each pair of them, for each row.
  return critics * quantiles <= kMostQuantiles
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("quantiles: got ", quantiles, " of each of ", critics,
                                                       " critics; wanted at most ", kMostQuantiles, " of all"));
}

AlgorithmPlan QuantileActorCriticPlan(const QuantileActorCriticOptions& options, const PlanContext& context) {
  return SoftActorCriticPlan(options, context, TanhNormalActor(),
                             ActionCritics(options.critics, HeadNeed(HeadKind::kQuantiles, options.quantiles)));
}

}  // namespace waggle
