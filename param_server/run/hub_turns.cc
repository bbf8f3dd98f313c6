// Hub's part in a run in lock-step; the rest of the class is in hub.cc.

#include <algorithm>

#include "param_server/run/hub.h"

namespace waggle {

void Hub::TakeTurnReportLocked(const WorkerReport& report, Role role) {
  if (!turns_.has_value()) {
    return;
  }
  if (const auto items = report.figures.counters.find("items_written");
      role == Role::kActor && items != report.figures.counters.end()) {
    turns_->CountItems(report.worker_id, static_cast<int64_t>(items->second));
  }
  EndTurnLocked(role, report.turn_done);
}

void Hub::EndTurnLocked(Role role, uint64_t number) {
  if (turns_->Done(role, number, static_cast<int64_t>(tracker_->learner_steps()))) {
    AnnounceLocked();
  }
}

Turn Hub::TurnLocked() const {
  Turn turn = turns_->turn();
  if (turn.role == Role::kActor) {
    for (const WorkerView* const actor : workers_.Alive(Role::kActor)) {
      turn.actor = std::min(turn.actor.value_or(actor->index), actor->index);
    }
  }
  return turn;
}

std::optional<Turn> Hub::turn() const {
  MutexLock lock(&mutex_);
  return turns_.has_value() ? std::optional(TurnLocked()) : std::nullopt;
}

void Hub::EndOwnTurn(uint64_t number) {
  MutexLock lock(&mutex_);
  if (turns_.has_value()) {
    EndTurnLocked(Role::kParamServer, number);
  }
}

}  // namespace waggle
