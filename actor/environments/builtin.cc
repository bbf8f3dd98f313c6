#include <utility>

#include "actor/environments/cartpole.h"
#include "actor/environments/environment.h"
#include "actor/environments/null_environment.h"
#include "actor/environments/pendulum.h"
#include "common/base/check.h"

namespace waggle {

EnvironmentDefinitions BuiltinEnvironments() {
  EnvironmentDefinitions definitions("environment");
  const auto add = [&definitions](const char* name, EnvironmentDefinition definition) {
    WAGGLE_CHECK(definitions.Register(name, std::move(definition)).ok(), "two built-in environments have one name");
  };
  add("CartPole-v1", CartPole::Definition());
  add("CartPoleHiddenVelocity-v1", CartPole::Definition(CartPole::Shown::kPositions));
  add(kNullEnvironment, NullEnvironment::Definition());
  add("Pendulum-v1", Pendulum::Definition());
  return definitions;
}

}  // namespace waggle
