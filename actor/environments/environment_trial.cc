#include "actor/environments/environment_trial.h"

#include <map>
#include <utility>

#include "actor/acting/random_actions.h"
#include "actor/environments/leaf_elements.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"

namespace waggle {
namespace {

// Adds each leaf's first element outside its box to `outside`, by leaf.
void FindOutside(const EnvironmentSpec& spec, const ReadyLanes& ready, std::map<size_t, std::string>* outside) {
  for (size_t leaf = 0; leaf < spec.observations.size(); ++leaf) {
    const SpaceLeaf& space = spec.observations[leaf];
    for (size_t row = 0; row < ready.lanes.size() && outside->count(leaf) == 0; ++row) {
      const absl::Status inside = CheckElements(space, static_cast<const char*>(ready.observations[leaf]) +
                                                           row * static_cast<size_t>(space.array.NumBytes()));
      if (!inside.ok()) {
        (*outside)[leaf] = std::string(inside.message());
      }
    }
  }
}

}  // namespace

absl::StatusOr<EnvironmentTrial> TryEnvironment(VectorEnvironment* environment, int64_t steps, const StopToken& stop) {
  EnvironmentTrial trial;
  RandomActions actions(environment->spec(), environment->lanes(), Rng(0));
  const Stopwatch reset;
  WAGGLE_RETURN_IF_ERROR(environment->Reset());
  WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, environment->Recv(environment->lanes(), stop));
  trial.reset_seconds = absl::ToDoubleSeconds(reset.Elapsed());
  std::map<size_t, std::string> outside;
  FindOutside(environment->spec(), ready, &outside);
  const Stopwatch stepping;
  for (int64_t step = 0; step < steps; ++step) {
    WAGGLE_RETURN_IF_ERROR(environment->Send(ready.lanes, actions.Draw(ready)));
    WAGGLE_ASSIGN_OR_RETURN(ready, environment->Recv(environment->lanes(), stop));
    FindOutside(environment->spec(), ready, &outside);
  }
  trial.steps_per_second =
      static_cast<double>(steps * environment->lanes()) / absl::ToDoubleSeconds(stepping.Elapsed());
  for (auto& [leaf, what] : outside) {
    trial.outside.push_back(std::move(what));
  }
  return trial;
}

}  // namespace waggle
