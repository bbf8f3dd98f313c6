#include "learner/learner_figures.h"

namespace waggle {

using Kind = ExportedFigure::Kind;

std::vector<ExportedFigure> LearnerFigures() {
  const std::string seconds = "waggle_learner_step_seconds_total";
  const std::string about_seconds =
      "The time of steps, by phase: waiting for batches (sample), learning (update), handing weights over (publish), "
      "copying the state of checkpoints (checkpoint).";
  const std::string priorities = "waggle_learner_priorities_total";
  const std::string about_priorities =
      "Priorities that were sent, by result: applied, stale (the item has another), unknown (the item is gone).";
  return {
      {"process/steps", "waggle_learner_steps_total", Kind::kCounter, "Steps that this process has done."},
      {"process/seconds_sampling", seconds, Kind::kCounter, about_seconds, {{"phase", "sample"}}},
      {"process/seconds_updating", seconds, Kind::kCounter, about_seconds, {{"phase", "update"}}},
      {"process/seconds_publishing", seconds, Kind::kCounter, about_seconds, {{"phase", "publish"}}},
      {"process/seconds_saving", seconds, Kind::kCounter, about_seconds, {{"phase", "checkpoint"}}},
      {"process/updates_failed", "waggle_learner_updates_failed_total", Kind::kCounter,
       "Steps that failed because a loss, a gradient or a parameter was not finite, or the batch was wrong."},
      {"process/weights_published", "waggle_learner_weights_published_total", Kind::kCounter,
       "Versions of the weights that were handed over for publishing."},
      {"process/checkpoints_written", "waggle_learner_checkpoints_total", Kind::kCounter,
       "Checkpoints that were written."},
      {"checkpoints_failed", "waggle_learner_checkpoints_failed_total", Kind::kCounter,
       "Checkpoints that could not be written."},
      {"process/checkpoint_writing_seconds", "waggle_learner_checkpoint_writing_seconds_total", Kind::kCounter,
       "The time that writing checkpoints took."},
      {"process/checkpoint_unix_seconds", "waggle_learner_checkpoint_timestamp_seconds", Kind::kMax,
       "The time of the last written checkpoint, in seconds since 1970. Before the first it is the start of training. "
       "Absent if no checkpoints are written."},
      {"process/checkpoint_period_seconds", "waggle_learner_checkpoint_period_seconds", Kind::kMax,
       "The time between checkpoints that the experiment asks for."},
      {"items_sampled", "waggle_learner_items_sampled_total", Kind::kCounter, "Items that were learned from."},
      {"items_too_old", "waggle_learner_items_too_old_total", Kind::kCounter,
       "Sampled items whose weights were too old to learn from."},
      {"policy_lag_mean", "waggle_learner_policy_lag_versions", Kind::kMean,
       "The mean policy lag of sampled items: the learner's version of the weights minus the version that acted."},
      {"priorities_applied", priorities, Kind::kCounter, about_priorities, {{"result", "applied"}}},
      {"priorities_stale", priorities, Kind::kCounter, about_priorities, {{"result", "stale"}}},
      {"priorities_unknown", priorities, Kind::kCounter, about_priorities, {{"result", "unknown"}}},
      {"waiting_fraction", "waggle_learner_waiting_ratio", Kind::kMean,
       "The fraction of time that the learner waits for batches or for other processes."},
      {"replay_servers_missing", "waggle_learner_replay_servers_missing", Kind::kMax,
       "Replay servers of the experiment that are away."},
      {"inference_batches", "waggle_learner_inference_batches_total", Kind::kCounter,
       "Batches of actions that were computed for actors."},
      {"inference_rows", "waggle_learner_inference_rows_total", Kind::kCounter,
       "Actions that were computed for actors."},
      {"gradients_pushed", "waggle_learner_gradients_pushed_total", Kind::kCounter,
       "Gradients that were pushed to a gradient server."},
      {"algorithm/*",
       "waggle_learner_algorithm_figure",
       Kind::kMean,
       "The algorithm's own figures, such as its loss, as means over a second.",
       {{"figure", ""}}},
  };
}

}  // namespace waggle
