#pragma once

#include "common/config/experiment/experiment.h"

namespace waggle::testing {

struct FakeOptions : AlgorithmOptions {
  int64_t n_step = 1;
  double discount = 0.99;
  ExplorationOptions exploration{"epsilon_greedy"};
  OptimizerOptions optimizer;

  void Visit(ConfigVisitor& visitor) override {
    visitor.Int("n_step", &n_step, In(1, 100));
    visitor.Double("discount", &discount, In(0, 1));
    visitor.Section("exploration", &exploration);
    visitor.Section("optimizer", &optimizer);
  }
  absl::Status Validate() const override {
    return discount == 0 ? absl::InvalidArgumentError("discount: 0 makes every step its own episode")
                         : absl::OkStatus();
  }
};

inline absl::StatusOr<AlgorithmPlan> PlanFake(const FakeOptions& options, const PlanContext& context) {
  if (options.n_step == 13) {
    return absl::InvalidArgumentError("algorithm.n_step: 13 brings bad luck");
  }
  NetworkNeed q{"q", {{"q", HeadKind::kQ}}, options.optimizer};
  q.acts = true;
  q.has_target = options.n_step != 15;
  AlgorithmPlan algorithm{{q}};
  algorithm.exploration = options.exploration;
  TablePlan plan;
  plan.batch_size = context.learner.batch_size;
  plan.table = context.replay.TableFor(plan.batch_size);
  plan.table.name = "replay";
  plan.table.signature = {context.environment.observations[0].array, context.environment.actions[0].array};
  plan.table.view = {{"observation", "observation", ViewField::Rows::kFirst},
                     {"action", "action", ViewField::Rows::kFirst}};
  plan.table.max_bytes = options.n_step == 14 ? 0 : plan.table.max_bytes;
  plan.table.max_window = options.n_step + 1;
  plan.window.length = options.n_step + 1;
  algorithm.tables = {plan};
  return algorithm;
}

inline void FakeDefaults(Experiment* experiment) {
  experiment->networks["q"] = NetworkSpec();
}

// "fake": discrete actions, a network "q" with a q head and a target, one table "replay" of n-step windows. n_step 13
// cannot make tables, and 15 has no target.
inline AlgorithmDefinitions FakeAlgorithms() {
  AlgorithmDefinitions algorithms("algorithm");
  algorithms.Register("fake", Define("for tests", {SpaceKind::kDiscrete}, FakeDefaults, PlanFake)).IgnoreError();
  algorithms.Register("fake_continuous", Define("for tests", {SpaceKind::kBox}, FakeDefaults, PlanFake)).IgnoreError();
  return algorithms;
}

inline EnvironmentSpec FakeEnvironmentSpec() {
  EnvironmentSpec spec;
  spec.name = "CartPole-v1";
  spec.observations = {Box("observation", DType::kFloat32, {4})};
  spec.actions = {Discrete("action", 2)};
  spec.max_episode_steps = 500;
  return spec;
}

}  // namespace waggle::testing
