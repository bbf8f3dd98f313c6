#include "common/base/problems.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/redq/redq.h"

namespace waggle {
namespace {

constexpr int64_t kLearnerSteps = 20;  // For each environment step, the paper's.

absl::StatusOr<AlgorithmPlan> Plan(const RedqOptions& options, const PlanContext& context) {
  return SoftActorCriticPlan(options, context, TanhNormalActor(), ActionCritics(options.critics, HeadKind::kValue));
}

void Defaults(Experiment* experiment) {
  OffPolicyActorCriticDefaults(experiment);
  experiment->replay.table.rate_limiter.samples_per_insert =
      static_cast<double>(kLearnerSteps * experiment->learner.batch_size);
}

}  // namespace

void RedqOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 64));
  visitor.Int("target_critics", &target_critics, In(1, 64));
  visitor.Int("policy_delay", &policy_delay, In(1, 1'000).Live());
  SoftActorCriticOptions::Visit(visitor);
}

absl::Status RedqOptions::Validate() const {
  Problems problems;
  problems.AddUnless(target_critics <= critics, "target_critics: got ", target_critics, "; wanted at most critics, ",
                     critics);
  return problems.ToStatus();
}

AlgorithmDefinition redq_definition() {
  return Define("Soft actor-critic with many critics and many learner steps for each environment step (REDQ)",
                {SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
