#include "common/plan/exploration_options.h"

namespace waggle {

void ExplorationOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, {"none", "epsilon_greedy", "boltzmann", "gaussian", "ornstein_uhlenbeck"});
  visitor.Int("warm_up_steps", &warm_up_steps, In(0, 1e12));
  // What another type would have is an unknown key.
  if (type == "epsilon_greedy") {
    visitor.Schedule("epsilon", &epsilon, In(0, 1));
    visitor.Double("ladder_exponent", &ladder_exponent, In(0, 1'000));
  }
  if (type == "boltzmann") {
    visitor.Schedule("temperature", &temperature, Above(0, 1e6));
  }
  if (type == "gaussian" || type == "ornstein_uhlenbeck") {
    visitor.Schedule("sigma", &sigma, In(0, 100));
  }
  if (type == "ornstein_uhlenbeck") {
    visitor.Double("theta", &theta, In(0, 1'000));
    visitor.Double("time_step", &time_step, Above(0, 1));
  }
}

absl::Status ExplorationOptions::Validate() const {
  return absl::OkStatus();
}

}  // namespace waggle
