#include "actor/environment_trial.h"

#include "actor/random_actions.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"

namespace waggle {

absl::StatusOr<EnvironmentTrial> TryEnvironment(VectorEnvironment* environment, int64_t steps, const StopToken& stop) {
  EnvironmentTrial trial;
  RandomActions actions(environment->spec(), environment->lanes(), Rng(0));
  const Stopwatch reset;
  WAGGLE_RETURN_IF_ERROR(environment->Reset());
  WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, environment->Recv(environment->lanes(), stop));
  trial.reset_seconds = absl::ToDoubleSeconds(reset.Elapsed());
  const Stopwatch stepping;
  for (int64_t step = 0; step < steps; ++step) {
    WAGGLE_RETURN_IF_ERROR(environment->Send(ready.lanes, actions.Draw(ready)));
    WAGGLE_ASSIGN_OR_RETURN(ready, environment->Recv(environment->lanes(), stop));
  }
  trial.steps_per_second =
      static_cast<double>(steps * environment->lanes()) / absl::ToDoubleSeconds(stepping.Elapsed());
  return trial;
}

}  // namespace waggle
