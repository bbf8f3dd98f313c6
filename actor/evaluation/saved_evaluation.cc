#include "actor/evaluation/saved_evaluation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/acting/random_policy.h"
#include "actor/acting/scripted_policy.h"
#include "actor/environments/open_environment.h"
#include "actor/evaluation/evaluator.h"
#include "actor/importing/dataset.h"
#include "actor/recording/file_recording.h"
#include "common/base/annotate.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"

namespace waggle {
namespace {

// More lanes do not make a forward pass faster, and each takes memory.
constexpr int64_t kMostLanes = 256;

// INVALID_ARGUMENT if the environment has no script, or one that would not know what it sees.
absl::StatusOr<std::unique_ptr<Policy>> NewScriptedPolicy(const EnvironmentDefinitions& environments,
                                                          const EnvironmentOptions& options,
                                                          const EnvironmentSpec& spec) {
  constexpr char kWanted[] = "; wanted random actions or weights for it";
  const absl::StatusOr<const EnvironmentDefinition*> definition = environments.Find(options.name);
  if (!definition.ok() || (*definition)->script == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("scripted: got ", options.name, ", which has no script", kWanted));
  }
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentSpec own, (*definition)->spec(options));
  if (own.observations != spec.observations || own.actions != spec.actions) {
    return absl::InvalidArgumentError(
        absl::StrCat("scripted: got transforms of what ", options.name, " shows or takes", kWanted));
  }
  return std::make_unique<ScriptedPolicy>(spec, (*definition)->script);
}

absl::StatusOr<SavedEvaluation> Evaluate(const SavedWeights& weights, const SavedEvaluationOptions& options,
                                         const SavedEvaluationPorts& ports, const StopToken& stop) {
  std::vector<std::pair<std::string, std::string>> overrides;
  if (!options.device.empty()) {
    overrides.emplace_back("actor.device", options.device);
  }
  const bool is_random = weights.kind == SavedKind::kRandom;
  WAGGLE_ASSIGN_OR_RETURN(
      const Experiment experiment,
      is_random ? ParseExperiment(weights.experiment_yaml, weights.folder, overrides, *ports.algorithms)
                : ParseStoredExperiment(weights.experiment_yaml, "the experiment in it", overrides, *ports.algorithms));
  const bool in_training = options.record.has_value() && !experiment.actor.self_play.has_value();
  const EnvironmentOptions& environment = in_training ? experiment.environment : experiment.evaluation.environment;
  PolicyRequest request;
  request.experiment = &experiment;
  request.lanes = request.all_lanes = options.record.has_value() ? 1 : std::min(options.episodes, kMostLanes);
  Rng rng = Rng::Split(static_cast<uint64_t>(options.seed), "evaluation of saved weights", 0);
  request.seed = rng.Next();
  LaneOptions lanes;
  lanes.lanes = request.lanes;
  lanes.in_order = true;
  lanes.raw_rewards = true;
  lanes.video = options.video;
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<VectorEnvironment> environments,
                          OpenEnvironment(*ports.environments, environment, lanes, Rng(rng.Next()), stop));
  request.environment = environments->spec();
  if (options.record == "minari:") {
    return absl::InvalidArgumentError("record: got minari:; wanted minari:FOLDER, or a file");
  }
  std::optional<ModelSnapshot> snapshot = weights.snapshot;
  std::unique_ptr<Policy> policy;
  if (options.scripted && (!is_random || options.explore)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scripted: got ", is_random ? "explore" : "weights", " beside it; wanted ",
                     is_random ? "none: a script does not explore" : "an experiment's file, FILE.yaml"));
  }
  if (options.scripted) {
    WAGGLE_ASSIGN_OR_RETURN(policy, NewScriptedPolicy(*ports.environments, environment, request.environment));
  } else if (is_random) {
    policy = std::make_unique<RandomPolicy>(request.environment, request.lanes, Rng(request.seed));
  } else {
    WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(experiment, request.environment, *ports.algorithms));
    WAGGLE_ASSIGN_OR_RETURN(policy, ports.new_policy(request));
    if (weights.learner.has_value()) {
      WAGGLE_ASSIGN_OR_RETURN(snapshot, ports.learner_weights(*weights.learner, request));
    }
    WAGGLE_RETURN_IF_ERROR(policy->LoadWeights(*snapshot));
  }
  const Stopwatch watch;
  absl::StatusOr<EpisodeOutcomes> outcomes = EpisodeOutcomes();
  const ActMode mode = options.explore ? ActMode::kExplore : ActMode::kGreedy;
  if (const std::string folder = MinariFolder(options.record.value_or("")); !folder.empty()) {
    outcomes =
        RecordToMinari(folder, environment.python, options.episodes, mode, environments.get(), policy.get(), stop);
  } else if (options.record.has_value()) {
    outcomes = RecordToFile(*options.record, options.episodes, mode, environments.get(), policy.get(), stop);
  } else {
    outcomes = Evaluator(std::move(environments), policy.get()).RunEpisodes(options.episodes, stop);
  }
  WAGGLE_RETURN_IF_ERROR(outcomes.status());

  SavedEvaluation evaluation;
  evaluation.seconds = absl::ToDoubleSeconds(watch.Elapsed());
  evaluation.kind = weights.kind;
  evaluation.folder = weights.folder;
  evaluation.experiment = experiment.experiment.name;
  evaluation.algorithm = experiment.algorithm;
  evaluation.environment = environment.name;
  if (weights.learner.has_value()) {
    evaluation.version = static_cast<uint64_t>(weights.learner->step);
  } else if (snapshot.has_value()) {
    evaluation.epoch = snapshot->version.epoch;
    evaluation.version = snapshot->version.version;
  }
  evaluation.env_steps = weights.env_steps;
  evaluation.seed = options.seed;
  evaluation.returns = StatisticsOf(outcomes->returns);
  evaluation.lengths = StatisticsOf(outcomes->lengths);
  evaluation.explored = options.explore;
  evaluation.scripted = options.scripted;
  evaluation.recorded = options.record;
  if (options.video.has_value()) {
    evaluation.video = options.video->folder;
  }
  return evaluation;
}

}  // namespace

absl::StatusOr<SavedEvaluation> EvaluateSaved(const SavedWeights& weights, const SavedEvaluationOptions& options,
                                              const SavedEvaluationPorts& ports, const StopToken& stop) {
  absl::StatusOr<SavedEvaluation> evaluation = Evaluate(weights, options, ports, stop);
  if (!evaluation.ok()) {
    return Annotate(evaluation.status(), weights.folder);
  }
  return evaluation;
}

}  // namespace waggle
