#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "common/hub/ports/hub.h"

namespace waggle {

// Options of a run in lock-step (experiment.deterministic).
struct LockStepOptions {
  int64_t record_steps = 1;      // Learner steps between two rows of figures.
  int64_t evaluation_steps = 0;  // Learner steps between two evaluations; 0: the run has none.
  int64_t cut_steps = 0;         // Learner steps between two cuts; 0: cuts are made on request alone.
  int64_t replay_servers = 1;
};

// The turn of a run, and what decides on later ones. A cut has it, so that a run that goes back to the cut has the same
// turns.
struct TurnState {
  Turn turn = {1, Role::kLearner, 0};
  // The learner's steps at the last turn of each kind.
  int64_t recorded_at = 0;
  int64_t evaluated_at = 0;
  int64_t cut_at = 0;
};

// The order of turns in a run in lock-step: one process works at a time, so that the run is reproducible. The learner
// begins, and publishes its first weights. Then actor and learner alternate. After a learner's turn, each record_steps
// each replay server updates its figures and the hub records all figures, and each evaluation_steps the evaluator
// works. A cut takes a turn of the learner and one of the hub; then the learner begins again. Pure logic; not
// thread-safe.
class TurnOrder {
 public:
  // A run begins with the default state.
  explicit TurnOrder(const LockStepOptions& options, const TurnState& state = {}) : options_(options), state_(state) {}

  const Turn& turn() const { return state_.turn; }
  // In the hub's turn of a cut: the state after this turn.
  TurnState AfterCut() const;

  // A cut is made after the learner's next turn. Returns its number.
  uint64_t RequestCut();
  // The cut of this turn could not be made.
  void CutFailed(uint64_t cut);

  // The items that an actor has written in all its life.
  void CountItems(const std::string& worker_id, int64_t items);

  // A worker of this role has done the turn of this number. `learner_steps`: of the run. True if the turn has changed.
  bool Done(Role role, uint64_t number, int64_t learner_steps);

 private:
  // True if the learner has reached another multiple of `period` since this was last true.
  static bool IsDue(int64_t period, int64_t learner_steps, int64_t* last);

  struct Next {
    Role role = Role::kLearner;
    uint64_t cut = 0;  // See Turn.
    std::optional<int64_t> index = {};
  };
  void Begin(const Next& next);
  uint64_t NextCut() const;

  const LockStepOptions options_;
  TurnState state_;
  std::deque<Next> next_;                   // The next turns, up to the actor's.
  std::map<std::string, int64_t> written_;  // By actor.
  bool cut_requested_ = false;
  uint64_t failed_cut_ = 0;
};

}  // namespace waggle
