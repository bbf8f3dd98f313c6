#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/ppo/ppo.h"

namespace waggle {
namespace {

// Networks with a core learn from whole unrolls, others from steps.
absl::Status CheckMinibatches(const PpoOptions& options, const PlanContext& context) {
  const auto network = context.networks.find("actor_critic");
  const bool has_core = network != context.networks.end() && network->second.core.type != "none";
  const int64_t unrolls = context.learner.batch_size;
  const int64_t parts = has_core ? unrolls : unrolls * options.unroll;
  const int64_t steps_a_part = unrolls * options.unroll / options.minibatches;
  if (options.minibatches <= parts && options.normalize_advantages && steps_a_part < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm.minibatches: got ", options.minibatches,
        ", of single steps, whose advantage is the mean that normalize_advantages subtracts; wanted at most ",
        unrolls * options.unroll / 2));
  }
  if (options.minibatches <= parts) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("algorithm.minibatches: got ", options.minibatches,
                                                 "; wanted at most the ", parts, has_core ? " unrolls" : " steps",
                                                 " of a learner step"));
}

}  // namespace

absl::StatusOr<AlgorithmPlan> PpoPlan(const PpoOptions& options, const PlanContext& context) {
  return PpoPlan(options, context, /*columns=*/{NumberColumn("log_prob")});
}

absl::StatusOr<AlgorithmPlan> PpoPlan(const PpoOptions& options, const PlanContext& context,
                                      const std::vector<ArraySpec>& columns) {
  WAGGLE_RETURN_IF_ERROR(CheckMinibatches(options, context));
  WAGGLE_ASSIGN_OR_RETURN(AlgorithmPlan plan, ActorCriticPlan(options, context, columns, /*actors_wait=*/true));
  plan.iterates = true;
  return plan;
}

PpoOptions::PpoOptions() {
  entropy.weight = 0.001;
}

void PpoOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("epochs", &epochs, In(1, 1'000).Live());
  visitor.Int("minibatches", &minibatches, In(1, 10'000));
  visitor.Schedule("clip", &clip, Above(0, 10).Live());
  visitor.OptionalDouble("value_clip", &value_clip, Above(0, 1e6).Live());
  visitor.OptionalDouble("max_divergence", &max_divergence, Above(0, 1e6).Live());
  ActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition ppo_definition() {
  return Define("A policy that moves a bounded way from the one that acted, in several passes (PPO)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, ActorCriticDefaults, PpoPlan);
}

}  // namespace waggle
