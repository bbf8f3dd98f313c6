#include "cli/check/checked_experiment.h"

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "actor/environments/environment.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {

absl::StatusOr<CheckedExperiment> LoadCheckedExperiment(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& overrides) {
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  CheckedExperiment checked;
  WAGGLE_ASSIGN_OR_RETURN(checked.experiment, LoadExperiment(file, overrides, algorithms, environments.Names()));
  std::ifstream text(file, std::ios::binary);
  checked.text.assign(std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>());
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentDefinition* definition,
                          environments.Find(checked.experiment.environment.name));
  absl::StatusOr<EnvironmentSpec> environment = definition->spec(checked.experiment.environment);
  if (!environment.ok()) {
    return LocateProblems(Annotate(environment.status(), "environment"), file, overrides);
  }
  checked.environment = *std::move(environment);
  WAGGLE_RETURN_IF_ERROR(
      LocateProblems(CheckAgainstEnvironment(checked.experiment, checked.environment, algorithms), file, overrides));
  return checked;
}

}  // namespace waggle
