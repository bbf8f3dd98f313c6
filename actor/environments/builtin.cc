#include <utility>

#include "actor/environments/acrobot.h"
#include "actor/environments/cartpole_hidden_velocity.h"
#include "actor/environments/environment_settings.h"
#include "actor/environments/mountain_car.h"
#include "actor/environments/mountain_car_continuous.h"
#include "actor/environments/null_environment.h"
#include "actor/environments/pendulum_hidden_velocity.h"
#include "common/base/check.h"

namespace waggle {

EnvironmentDefinitions BuiltinEnvironments() {
  EnvironmentDefinitions definitions("environment");
  const auto add = [&definitions](const char* name, EnvironmentDefinition definition) {
    WAGGLE_CHECK(definitions.Register(name, std::move(definition)).ok(), "two built-in environments have one name");
  };
  add("Acrobot-v1", DefinitionOf<Acrobot>("Swing two links up by the joint between them; Gymnasium's Acrobot-v1"));
  add("CartPole-v1",
      DefinitionOf<CartPole>("Balance a pole on a cart by pushing the cart left or right; Gymnasium's CartPole-v1"));
  add("CartPoleHiddenVelocity-v1",
      DefinitionOf<CartPoleHiddenVelocity>("CartPole-v1 that shows no velocities, for policies that remember"));
  add("MountainCar-v0",
      DefinitionOf<MountainCar>("Drive a weak car out of a valley by rocking it; Gymnasium's MountainCar-v0"));
  add("MountainCarContinuous-v0",
      DefinitionOf<MountainCarContinuous>("The same by any force; Gymnasium's MountainCarContinuous-v0"));
  add(kNullEnvironment, NullEnvironment::Definition());
  add("Pendulum-v1",
      DefinitionOf<Pendulum>("Swing a pendulum up by a torque and hold it there; Gymnasium's Pendulum-v1"));
  add("PendulumHiddenVelocity-v1",
      DefinitionOf<PendulumHiddenVelocity>("Pendulum-v1 that shows no velocity, for policies that remember"));
  return definitions;
}

}  // namespace waggle
