#include "cli/check/checked_experiment.h"

#include <memory>
#include <utility>

#include "actor/environments/environment.h"
#include "actor/environments/open_environment.h"
#include "actor/environments/transforms/apply_transforms.h"
#include "actor/importing/dataset.h"
#include "actor/importing/episode_file.h"
#include "actor/importing/episode_importer.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/yaml_file.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/publishing/initial_weights.h"

namespace waggle {
namespace {

constexpr int64_t kTrialSteps = 10;

// Checks that a replay file of recorded episodes is of the environment. OK if there is none.
absl::Status CheckImportedEpisodes(const std::string& name, const EnvironmentSpec& environment) {
  if (name.empty() || IsDataset(name)) {  // Conversions take long: actors make them.
    return absl::OkStatus();
  }
  const absl::StatusOr<std::unique_ptr<EpisodeSource>> episodes = OpenEpisodeFile(name);
  return Annotate(episodes.ok() ? CheckSource(**episodes, environment) : episodes.status(),
                  absl::StrCat("replay.import: ", name));
}

}  // namespace

absl::StatusOr<CheckedExperiment> LoadCheckedExperiment(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& overrides,
    ForeignEnvironments foreign) {
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  CheckedExperiment checked;
  const auto spec_of = [&](const EnvironmentOptions& options) -> absl::StatusOr<std::optional<EnvironmentSpec>> {
    if (options.is_built_in()) {
      WAGGLE_ASSIGN_OR_RETURN(const EnvironmentDefinition* definition, environments.Find(options.name));
      WAGGLE_ASSIGN_OR_RETURN(EnvironmentSpec spec, definition->spec(options));
      return TransformSpec(std::move(spec), options);
    }
    if (foreign == ForeignEnvironments::kNotOpened) {
      WAGGLE_RETURN_IF_ERROR(CheckTransforms(options));
      return std::nullopt;
    }
    LaneOptions lanes;
    lanes.max_failures = 1;  // A failed trial is reported at once, without retries.
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<VectorEnvironment> environment,
                            OpenEnvironment(environments, options, lanes, Rng(0), StopToken()));
    WAGGLE_ASSIGN_OR_RETURN(checked.trial, TryEnvironment(environment.get(), kTrialSteps, StopToken()));
    return environment->spec();
  };
  WAGGLE_ASSIGN_OR_RETURN(checked.text, ReadYamlFile(file));
  WAGGLE_ASSIGN_OR_RETURN(checked.experiment,
                          ParseAndCheckExperiment(checked.text, file, overrides, BuiltinAlgorithmDefinitions(),
                                                  OfferedEnvironments(environments), spec_of, &checked.environment));
  if (foreign == ForeignEnvironments::kOpened && checked.environment.has_value()) {
    WAGGLE_RETURN_IF_ERROR(CheckImportedEpisodes(checked.experiment.replay.import, *checked.environment));
  }
  const InitOptions& init = checked.experiment.learner.init;
  if (init.is_given() && foreign == ForeignEnvironments::kOpened) {
    WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan,
                            PlanExperiment(checked.experiment, *checked.environment, BuiltinAlgorithmDefinitions()));
    const auto weights = FindInitialWeights(init, plan, *checked.environment, BuiltinAlgorithmDefinitions());
    WAGGLE_RETURN_IF_ERROR(Annotate(weights.status(), file));
  }
  return checked;
}

}  // namespace waggle
