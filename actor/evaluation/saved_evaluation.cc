#include "actor/evaluation/saved_evaluation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "actor/evaluation/evaluator.h"
#include "actor/open_environment.h"
#include "common/base/annotate.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/base/stopwatch.h"
#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"

namespace waggle {
namespace {

// More lanes make no pass of a network quicker, and each takes memory.
constexpr int64_t kMostLanes = 256;

absl::StatusOr<SavedEvaluation> Evaluate(const SavedWeights& weights, const SavedEvaluationOptions& options,
                                         const SavedEvaluationPorts& ports, const StopToken& stop) {
  std::vector<std::pair<std::string, std::string>> overrides;
  if (!options.device.empty()) {
    overrides.emplace_back("actor.device", options.device);
  }
  WAGGLE_ASSIGN_OR_RETURN(
      const Experiment experiment,
      ParseStoredExperiment(weights.experiment_yaml, "the experiment in it", overrides, *ports.algorithms));
  PolicyRequest request;
  request.experiment = &experiment;
  request.lanes = request.all_lanes = std::min(options.episodes, kMostLanes);
  Rng rng = Rng::Split(static_cast<uint64_t>(options.seed), "evaluation of saved weights", 0);
  request.seed = rng.Next();
  LaneOptions lanes;
  lanes.lanes = request.lanes;
  lanes.in_order = true;
  lanes.raw_rewards = true;
  WAGGLE_ASSIGN_OR_RETURN(
      std::unique_ptr<VectorEnvironment> environments,
      OpenEnvironment(*ports.environments, experiment.evaluation.environment, lanes, Rng(rng.Next()), stop));
  request.environment = environments->spec();
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(experiment, request.environment, *ports.algorithms));
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Policy> policy, ports.new_policy(request));
  std::optional<ModelSnapshot> snapshot = weights.snapshot;
  if (weights.learner.has_value()) {
    WAGGLE_ASSIGN_OR_RETURN(snapshot, ports.learner_weights(*weights.learner, request));
  }
  WAGGLE_RETURN_IF_ERROR(policy->LoadWeights(*snapshot));
  Evaluator evaluator(std::move(environments), policy.get());
  const Stopwatch watch;
  WAGGLE_ASSIGN_OR_RETURN(const EpisodeOutcomes outcomes, evaluator.RunEpisodes(options.episodes, stop));

  SavedEvaluation evaluation;
  evaluation.seconds = absl::ToDoubleSeconds(watch.Elapsed());
  evaluation.kind = weights.kind;
  evaluation.folder = weights.folder;
  evaluation.experiment = experiment.experiment.name;
  evaluation.algorithm = experiment.algorithm;
  evaluation.environment = experiment.evaluation.environment.name;
  if (weights.learner.has_value()) {
    evaluation.version = static_cast<uint64_t>(weights.learner->step);
  } else {
    evaluation.epoch = snapshot->version.epoch;
    evaluation.version = snapshot->version.version;
  }
  evaluation.env_steps = weights.env_steps;
  evaluation.seed = options.seed;
  evaluation.returns = StatisticsOf(outcomes.returns);
  evaluation.lengths = StatisticsOf(outcomes.lengths);
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
