#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/experiment/algorithm_definition.h"

namespace waggle::testing {

struct FakeOptions : AlgorithmOptions {
  int64_t n_step = 1;
  double discount = 0.99;

  void Visit(ConfigVisitor& visitor) override {
    visitor.Int("n_step", &n_step, In(1, 100));
    visitor.Double("discount", &discount, In(0, 1));
  }
  absl::Status Validate() const override {
    return discount == 0 ? absl::InvalidArgumentError("discount: 0 makes every step its own episode")
                         : absl::OkStatus();
  }
};

// "fake": discrete actions, a q head, one table "replay" of n-step windows. n_step 13 cannot make tables.
inline AlgorithmDefinitions FakeAlgorithms() {
  AlgorithmDefinition fake;
  fake.description = "for tests";
  fake.action_kinds = {SpaceKind::kDiscrete};
  fake.head_types = {"q"};
  fake.new_options = [] { return std::make_unique<FakeOptions>(); };
  fake.learner_arrays = [](const AlgorithmOptions&) { return LearnerArrays{5, 3}; };
  fake.plan_tables = [](const AlgorithmOptions& options, const EnvironmentSpec& environment,
                        const ReplayOptions& replay,
                        const LearnerOptions& learner) -> absl::StatusOr<std::vector<TablePlan>> {
    const int64_t n_step = static_cast<const FakeOptions&>(options).n_step;
    if (n_step == 13) {
      return absl::InvalidArgumentError("algorithm.n_step: 13 brings bad luck");
    }
    TablePlan plan;
    plan.table = replay.TableFor(learner.batch_size);
    plan.table.name = "replay";
    plan.table.signature = {environment.observations[0].array, environment.actions[0].array};
    plan.table.view = {{"observation", "observation", ViewField::Rows::kFirst},
                       {"action", "action", ViewField::Rows::kFirst}};
    plan.table.max_bytes = n_step == 14 ? 0 : plan.table.max_bytes;
    plan.table.max_window = n_step + 1;
    plan.window.length = n_step + 1;
    return std::vector<TablePlan>{plan};
  };
  AlgorithmDefinitions algorithms("algorithm");
  algorithms.Register("fake", fake).IgnoreError();
  fake.action_kinds = {SpaceKind::kBox};
  algorithms.Register("fake_continuous", fake).IgnoreError();
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
