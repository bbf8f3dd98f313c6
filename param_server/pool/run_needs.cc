#include "param_server/pool/run_needs.h"

namespace waggle {

int64_t RunNeeds::Least() const {
  int64_t least = 0;
  for (const SeatGroup& group : groups) {
    least += group.least;
  }
  return least;
}

RunNeeds NeedsOf(const Experiment& experiment) {
  const LearnerOptions& learner = experiment.learner;
  RunNeeds needs;
  needs.environment = experiment.environment.Offer();
  if (learner.actors_push()) {
    // Actors compute the pushed gradients from their own steps, without a replay server.
    SeatGroup primary{Role::kLearner, WorkerKind::kGradient};
    primary.serves = true;
    primary.setting = "learner.gradients";
    needs.groups.push_back(primary);
    if (const int64_t reducers = learner.gradient_server.reducers; reducers > 0) {
      SeatGroup group{Role::kReducer, WorkerKind::kGradient, reducers, reducers};
      group.serves = true;
      group.setting = "learner.gradient_server.reducers";
      needs.groups.push_back(group);
    }
  } else {
    SeatGroup replay{Role::kReplayServer, WorkerKind::kReplayServer, experiment.replay.servers,
                     experiment.replay.servers};
    replay.serves = true;
    replay.setting = "replay.servers";
    replay.distinct = true;
    replay.keeps = experiment.replay.table.durability != Durability::kNone;
    needs.groups.push_back(replay);
    SeatGroup learners{Role::kLearner, WorkerKind::kLearner, learner.processes, learner.processes, learner.device};
    learners.serves = experiment.actor.asks_learner();
    learners.setting = "learner.processes";
    learners.device_setting = "learner.device";
    needs.groups.push_back(learners);
  }
  SeatGroup actors{Role::kActor, WorkerKind::kActor, experiment.actor.least_processes_started(),
                   experiment.actor.processes_started(), experiment.actor.device};
  actors.steps_environment = true;
  actors.setting = "actor.processes";
  actors.device_setting = "actor.device";
  needs.groups.push_back(actors);
  if (experiment.evaluation.enabled) {
    SeatGroup evaluator{Role::kEvaluator, WorkerKind::kEvaluator, 0, 1, experiment.actor.device};
    evaluator.steps_environment = true;
    evaluator.setting = experiment.experiment.deterministic ? "experiment.deterministic" : "stop.target_return";
    evaluator.device_setting = "actor.device";
    // Lock-step and a target return need evaluations all the time; other runs need them only at the end.
    const bool needed = experiment.experiment.deterministic || experiment.stop.target_return.has_value();
    evaluator.least = needed ? 1 : 0;
    needs.groups.push_back(evaluator);
  }
  return needs;
}

}  // namespace waggle
