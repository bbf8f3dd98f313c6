#include "actor/actor_figures.h"

namespace waggle {

using Kind = ExportedFigure::Kind;

std::vector<ExportedFigure> ActorFigures() {
  return {
      {"env_steps", "waggle_actor_env_steps_total", Kind::kCounter, "Environment steps, of all lanes together."},
      {"episodes", "waggle_actor_episodes_total", Kind::kCounter, "Episodes that ended."},
      {"items_written", "waggle_actor_items_written_total", Kind::kCounter, "Items that were written to replay."},
      {"return_mean", "waggle_actor_return_mean", Kind::kMean,
       "The mean return of the last episodes, with exploration; absent before the first ends."},
      {"policy_version", "waggle_actor_weights_version", Kind::kMax, "The version of the weights that act."},
      {"policy_lag_when_inserted_mean", "waggle_actor_weights_lag_versions", Kind::kMean,
       "The mean age of the weights that acted the rows, in versions behind the newest known, when the rows were "
       "inserted."},
      {"process/weights_age_seconds", "waggle_actor_weights_age_seconds", Kind::kMax,
       "The time since the last weights were loaded."},
      {"process/weights_loaded", "waggle_actor_weights_loaded_total", Kind::kCounter,
       "Versions of the weights that were loaded."},
      {"waiting_fraction", "waggle_actor_waiting_ratio", Kind::kMean,
       "The fraction of time that the actor waits for room in replay or for other processes."},
      {"environment_processes", "waggle_actor_environment_processes", Kind::kSum,
       "Processes that step environments; absent without such processes."},
      {"environment_restarts", "waggle_actor_environment_restarts_total", Kind::kCounter,
       "Processes of environments that died and were started again."},
      {"broken_episodes", "waggle_actor_broken_episodes_total", Kind::kCounter,
       "Episodes that were cut off because their environment failed."},
      {"gradients_pushed", "waggle_actor_gradients_pushed_total", Kind::kCounter,
       "Gradients that were pushed to a gradient server."},
  };
}

std::vector<ExportedFigure> EvaluatorFigures() {
  return {
      {"evaluations", "waggle_evaluator_evaluations_total", Kind::kCounter, "Evaluations that ended."},
  };
}

}  // namespace waggle
