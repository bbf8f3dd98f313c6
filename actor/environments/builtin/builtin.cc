#include <utility>

#include "actor/environments/builtin/acrobot.h"
#include "actor/environments/builtin/bit_flip.h"
#include "actor/environments/builtin/cartpole_hidden_velocity.h"
#include "actor/environments/builtin/catch_ball.h"
#include "actor/environments/builtin/catch_duel.h"
#include "actor/environments/builtin/deep_sea.h"
#include "actor/environments/builtin/docking.h"
#include "actor/environments/builtin/grid_world.h"
#include "actor/environments/builtin/memory_cue.h"
#include "actor/environments/builtin/mountain_car.h"
#include "actor/environments/builtin/mountain_car_confounded.h"
#include "actor/environments/builtin/mountain_car_continuous.h"
#include "actor/environments/builtin/null_environment.h"
#include "actor/environments/builtin/pendulum_hidden_velocity.h"
#include "actor/environments/builtin/point_mass.h"
#include "actor/environments/builtin/spread.h"
#include "actor/environments/environment_settings.h"
#include "common/base/check.h"

namespace waggle {

EnvironmentDefinitions BuiltinEnvironments() {
  EnvironmentDefinitions definitions("environment");
  const auto add = [&definitions](const char* name, EnvironmentDefinition definition) {
    WAGGLE_CHECK(definitions.Register(name, std::move(definition)).ok(), "two built-in environments have one name");
  };
  add("Acrobot-v1", DefinitionOf<Acrobot>("Swing two links up by the joint between them; Gymnasium's Acrobot-v1"));
  add("BitFlip-v0", DefinitionOf<BitFlip>("Flip bits, one in each step, until they equal a goal"));
  add("CartPole-v1",
      DefinitionOf<CartPole>("Balance a pole on a cart by pushing the cart left or right; Gymnasium's CartPole-v1"));
  add("CartPoleHiddenVelocity-v1",
      DefinitionOf<CartPoleHiddenVelocity>("CartPole-v1 that shows no velocities, for policies that remember"));
  add("Catch-v0", DefinitionOf<CatchBall>("Catch a falling ball with a paddle, seen as a picture; bsuite's catch"));
  add("CatchDuel-v0",
      DefinitionOf<CatchDuel>("Two paddles compete for falling balls; for self-play, or against a scripted opponent"));
  EnvironmentDefinition deep_sea =
      DefinitionOf<DeepSea>("Find the only treasure of a deep sea against misleading rewards; bsuite's deep sea");
  deep_sea.follows_seed = false;
  add("DeepSea-v0", std::move(deep_sea));
  add("Docking-v0", DefinitionOf<Docking>("Stop at a dock by thrusters along x or y, or a brake, and a thrust"));
  add("GridWorld-v0", DefinitionOf<GridWorld>("Walk to a goal past walls; a mask shows which moves are possible"));
  add("MemoryCue-v0", DefinitionOf<MemoryCue>("Choose the cue that was shown first, for policies that remember"));
  add("MountainCar-v0",
      DefinitionOf<MountainCar>("Drive a weak car out of a valley by rocking it; Gymnasium's MountainCar-v0"));
  add("MountainCarConfounded-v0",
      DefinitionOf<MountainCarConfounded>("MountainCar-v0 that shows the previous action, which cloners copy"));
  add("MountainCarContinuous-v0",
      DefinitionOf<MountainCarContinuous>("The same by any force; Gymnasium's MountainCarContinuous-v0"));
  add(kNullEnvironment, NullEnvironment::Definition());
  add("Pendulum-v1",
      DefinitionOf<Pendulum>("Swing a pendulum up by a torque and hold it there; Gymnasium's Pendulum-v1"));
  add("PendulumHiddenVelocity-v1",
      DefinitionOf<PendulumHiddenVelocity>("Pendulum-v1 that shows no velocity, for policies that remember"));
  add("PointMass-v0", DefinitionOf<PointMass>("Steer a point in a square to a goal"));
  add("Spread-v0", DefinitionOf<Spread>("Several agents cover landmarks together; simple_spread_v3 of mpe2"));
  return definitions;
}

}  // namespace waggle
