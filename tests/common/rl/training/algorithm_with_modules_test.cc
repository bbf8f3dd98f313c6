#include "common/rl/training/algorithm_with_modules.h"

#include <map>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

// The parameters of the algorithm's own networks and their targets, by name.
std::map<std::string, torch::Tensor> Parameters(AlgorithmTrainee* trainee) {
  std::map<std::string, torch::Tensor> parameters;
  for (const NetworkNeed& need : trainee->plan().algorithm.networks) {
    const Net& net = trainee->model().net(need.name);
    for (const Network* const network :
         {static_cast<const Network*>(&net.network()), static_cast<const Network*>(net.target_network())}) {
      for (size_t i = 0; !need.is_modules && network != nullptr && i < network->plan().parameters.size(); ++i) {
        parameters[(network == &net.network() ? "" : "target ") + need.name + " " +
                   network->plan().parameters[i].name] = network->parameters().value_views()[i];
      }
    }
  }
  return parameters;
}

TEST_CASE("beside a module of weight 0 an algorithm's updates are those that it makes alone, bit for bit", "[unit]") {
  struct Case {
    const char* algorithm;
    const char* networks;
    SpaceLeaf action;
  };
  const Case cases[] = {
      {"name: apex_dqn, n_step: 1", "q: {torso: [{type: mlp, units: [7]}]}", Discrete("action", 3)},
      {"name: sac, n_step: 1", "actor: {torso: [{type: mlp, units: [7]}]}, critic: {torso: [{type: mlp, units: [7]}]}",
       Box("action", DType::kFloat32, {2}, -1, 1)}};
  for (const Case& one : cases) {
    const EnvironmentSpec environment = testing::EnvironmentOf(4, one.action);
    for (const std::string module : {"rnd", "icm", "decoder"}) {
      INFO(one.algorithm << " with " << module);
      const auto trainee = [&](const std::string& modules) {
        return testing::TraineeOn(std::string("{") + one.networks + "}", one.algorithm + modules, environment,
                                  torch::kFloat32, 3);
      };
      const auto alone = trainee("");
      const auto composed = trainee(", modules: [{type: " + module + ", weight: 0}]");
      // A head more draws more first values.
      const std::map<std::string, torch::Tensor> own = Parameters(alone.get());
      const std::map<std::string, torch::Tensor> beside = Parameters(composed.get());
      for (const auto& [name, values] : own) {
        const torch::NoGradGuard no_grad;
        torch::Tensor others = beside.at(name);
        others.copy_(values);
      }
      LocalStepper stepper;
      for (uint64_t seed = 0; seed < 6; ++seed) {
        const TensorBatch batch = testing::RandomTransitions(environment, 16, seed, torch::kFloat32);
        const UpdateResult expected = testing::Updated(alone.get(), batch, &stepper);
        const UpdateResult result = testing::Updated(composed.get(), batch, &stepper);
        // Undefined if items are drawn uniformly.
        CHECK(result.priorities[0].defined() == expected.priorities[0].defined());
        CHECK((!expected.priorities[0].defined() || torch::equal(result.priorities[0], expected.priorities[0])));
      }
      for (const auto& [name, values] : own) {
        INFO(name);
        CHECK(torch::equal(beside.at(name), values));
      }
    }
  }
}

}  // namespace
}  // namespace waggle
