#include "common/config/experiment/cut_checks.h"

#include "common/base/problems.h"
#include "common/config/table/table_config.h"

namespace waggle {

absl::Status CheckCuts(const Experiment& experiment) {
  Problems problems;
  problems.AddUnless(experiment.replay.table.durability != Durability::kNone,
                     "replay.durability: got none; wanted checkpoint or log, because a cut has the replay's tables");
  problems.AddUnless(experiment.learner.processes == 1, "learner.processes: got ", experiment.learner.processes,
                     "; wanted 1 in a run that has cuts");
  problems.AddUnless(experiment.learner.gradients == "local", "learner.gradients: got ", experiment.learner.gradients,
                     "; wanted local in a run that has cuts");
  return problems.ToStatus();
}

}  // namespace waggle
