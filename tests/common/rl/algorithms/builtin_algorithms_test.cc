#include "common/rl/algorithm.h"
#include "common/rl/algorithms/builtin.h"
#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

TEST_CASE("every algorithm that is defined is implemented, and makes a learner and a policy of its defaults",
          "[unit]") {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations algorithms = BuiltinAlgorithms();
  REQUIRE(algorithms.Names() == definitions.Names());
  for (const std::string& name : algorithms.Names()) {
    INFO(name);
    Experiment experiment;
    experiment.algorithm = name;
    experiment.algorithm_options = testing::ValueOf(definitions.Find(name))->new_options();
    const EnvironmentSpec environment = testing::DqnEnvironment(4, 2);
    const AlgorithmImplementation& implementation = *testing::ValueOf(algorithms.Find(name));
    const std::unique_ptr<Algorithm> algorithm =
        testing::ValueOf(implementation.new_algorithm({&experiment, environment, torch::kCPU}));
    PolicyContext context;
    context.experiment = &experiment;
    context.environment = environment;
    context.lanes = 2;
    context.all_lanes = 2;
    const std::unique_ptr<Policy> policy = testing::ValueOf(implementation.new_policy(context));
    // What the learner publishes is what the policy takes.
    REQUIRE_OK(policy->LoadWeights(testing::ValueOf(algorithm->Publish())));
  }
}

}  // namespace
}  // namespace waggle
