#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/rl/acting/network_policy.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle::testing {

// Options without fields.
struct NoOptions : AlgorithmOptions {
  void Visit(ConfigVisitor&) override {}
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// A policy of an algorithm that is made for a test, and the network that it acts by.
struct MadePolicy {
  template <class Options, class Plan>
  MadePolicy(const std::vector<SpaceLeaf>& actions, int64_t slots, const Options& options, const NetworkSpec& spec,
             const Plan& plan) {
    const std::vector<SpaceKind> kinds = {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox};
    REQUIRE_OK(definitions.Register("made", Define<Options>(
                                                "for tests", kinds, [](Experiment*) {}, plan)));
    experiment.algorithm = "made";
    experiment.algorithm_options = std::make_shared<Options>(options);
    experiment.networks["net"] = spec;
    // For plans whose actors wait.
    experiment.learner.batch_size = experiment.actor.processes * experiment.actor.lanes;
    experiment.learner.publish_period_steps = 1;
    context.experiment = &experiment;
    context.definitions = &definitions;
    context.environment = DqnEnvironment(2, 3);
    context.environment.actions = actions;
    context.lanes = slots;
    context.all_lanes = slots;
    context.seed = 11;
    policy = ValueOf(NetworkPolicy::Create(context));
    Load(3);
  }

  void Load(uint64_t seed) {
    const ExperimentPlan plan = ValueOf(PlanExperiment(experiment, context.environment, definitions));
    network = ValueOf(Network::Create(*plan.acting()[0], torch::kCPU, seed));
    REQUIRE_OK(policy->LoadWeights(ValueOf(EncodeWeights({{"q", &network->parameters()}}, network->plan().hash))));
  }

  AlgorithmDefinitions definitions = AlgorithmDefinitions("algorithm");
  Experiment experiment;
  PolicyContext context;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Network> network;
};

}  // namespace waggle::testing
