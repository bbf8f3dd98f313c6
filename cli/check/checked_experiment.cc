#include "cli/check/checked_experiment.h"

#include <memory>

#include "actor/environments/environment.h"
#include "actor/open_environment.h"
#include "common/base/status_macros.h"
#include "common/config/yaml_file.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {

absl::StatusOr<CheckedExperiment> LoadCheckedExperiment(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& overrides) {
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  const auto spec_of = [&environments](const EnvironmentOptions& options) -> absl::StatusOr<EnvironmentSpec> {
    if (options.is_built_in()) {
      WAGGLE_ASSIGN_OR_RETURN(const EnvironmentDefinition* definition, environments.Find(options.name));
      return definition->spec(options);
    }
    EnvironmentOptions one = options;
    one.processes = 1;
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<VectorEnvironment> environment,
                            OpenEnvironment(environments, one, {}, Rng(0), StopToken()));
    return environment->spec();
  };
  CheckedExperiment checked;
  WAGGLE_ASSIGN_OR_RETURN(checked.text, ReadYamlFile(file));
  WAGGLE_ASSIGN_OR_RETURN(checked.experiment,
                          ParseAndCheckExperiment(checked.text, file, overrides, BuiltinAlgorithmDefinitions(),
                                                  OfferedEnvironments(environments), spec_of, &checked.environment));
  return checked;
}

}  // namespace waggle
