#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

// Options of a run in lock-step (experiment.deterministic).
struct LockStepOptions {
  int64_t record_steps = 1;      // Learner steps between two rows of figures.
  int64_t evaluation_steps = 0;  // Learner steps between two evaluations; 0: the run has none.
};

// The order of turns in a run in lock-step: one process works at a time, so that the run is reproducible. The learner
// begins, and publishes its first weights. Then actor and learner alternate. After a learner's turn, each record_steps
// the replay server updates its figures and the hub records all figures, and each evaluation_steps the evaluator works.
// Pure logic; not thread-safe.
class TurnOrder {
 public:
  explicit TurnOrder(const LockStepOptions& options) : options_(options) {}

  const Turn& turn() const { return turn_; }

  // The items that an actor has written in all its life.
  void CountItems(const std::string& worker_id, int64_t items);

  // A worker of this role has done the turn of this number. `learner_steps`: of the run. True if the turn has changed.
  bool Done(Role role, uint64_t number, int64_t learner_steps);

 private:
  // True if the learner has reached another multiple of `period` since this was last true.
  static bool IsDue(int64_t period, int64_t learner_steps, int64_t* last);

  const LockStepOptions options_;
  Turn turn_ = {1, Role::kLearner, 0};
  std::deque<Role> next_;                   // The next turns, up to the actor's.
  std::map<std::string, int64_t> written_;  // By actor.
  int64_t recorded_at_ = 0;
  int64_t evaluated_at_ = 0;
};

}  // namespace waggle
