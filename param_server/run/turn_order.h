#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

// Of a run in lock-step (experiment.deterministic).
struct LockStepOptions {
  int64_t record_steps = 1;      // Learner steps from one row of figures to the next.
  int64_t evaluation_steps = 0;  // Learner steps from one evaluation to the next; 0: there are none.
};

// Who has the turn in a run in lock-step: one process at a time, so that what each does follows from what was done
// before it. First the learner, which publishes its first weights; then actor and learner in turn. Where the learner
// has gone past enough steps the run's figures are recorded, for which the replay server brings its own up to date and
// the hub itself has a turn, and the weights are evaluated, before the actor goes on. Pure logic; not thread-safe.
class TurnOrder {
 public:
  explicit TurnOrder(const LockStepOptions& options) : options_(options) {}

  const Turn& turn() const { return turn_; }

  // What an actor has written in all its life.
  void CountItems(const std::string& worker_id, int64_t items);

  // A worker of this role says that it has done the turn of this number; heard again and again. `learner_steps`: of the
  // run by now. Returns whether the turn has changed, by its role or its number alone.
  bool Done(Role role, uint64_t number, int64_t learner_steps);

 private:
  // Whether the learner has gone past a multiple of `period` since this was last true.
  static bool IsDue(int64_t period, int64_t learner_steps, int64_t* last);

  const LockStepOptions options_;
  Turn turn_ = {1, Role::kLearner, 0};
  std::deque<Role> next_;                   // Before the actor.
  std::map<std::string, int64_t> written_;  // By actor.
  int64_t recorded_at_ = 0;
  int64_t evaluated_at_ = 0;
};

}  // namespace waggle
