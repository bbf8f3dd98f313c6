#include "tests/export/shipped_specs.h"

#include <string>
#include <utility>

#include "actor/environments/environment.h"
#include "actor/environments/transforms/apply_transforms.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

EnvironmentSpec OwnSpec(const EnvironmentOptions& options) {
  if (options.is_built_in()) {
    static const EnvironmentDefinitions built_in = BuiltinEnvironments();
    return ValueOf(ValueOf(built_in.Find(options.name))->spec(options));
  }
  EnvironmentSpec spec;
  spec.name = options.name;
  const std::string id = options.Scheme() == "pettingzoo" ? options.pettingzoo.id : options.gymnasium.id;
  if (id == "CartPole-v1") {
    spec.observations = {Box("observation", DType::kFloat32, {4})};
    spec.actions = {Discrete("action", 2)};
  } else if (id == "LunarLander-v3") {
    spec.observations = {Box("observation", DType::kFloat32, {8})};
    spec.actions = {Discrete("action", 4)};
  } else if (id == "HalfCheetah-v5") {
    spec.observations = {Box("observation", DType::kFloat32, {17})};
    spec.actions = {Box("action", DType::kFloat32, {6}, -1, 1)};
  } else if (id == "examples.environment_python.warehouse:Warehouse") {
    spec.observations = {Box("observation/place", DType::kFloat32, {2}, -1, 1), Discrete("observation/shelf", 4)};
    spec.actions = {MultiDiscrete("action", {3, 3})};
  } else if (id == "mpe2.simple_spread_v3") {
    spec.rewards.clear();
    for (const std::string agent : {"agent_0/", "agent_1/"}) {
      spec.observations.push_back(Box(agent + "observation", DType::kFloat32, {12}));
      spec.actions.push_back(Discrete(agent + "action", 5));
      spec.rewards.push_back({agent + "reward", DType::kFloat32, {}});
    }
  } else {
    FAIL("no spec of " << id << " here");
  }
  return spec;
}

}  // namespace

EnvironmentSpec ShippedSpec(const EnvironmentOptions& options) {
  return ValueOf(TransformSpec(OwnSpec(options), options));
}

}  // namespace waggle::testing
