#include "param_server/run/turn_order.h"

#include <algorithm>

namespace waggle {
namespace {

// Larger turns can only be wrong, as turns are counted up by one.
constexpr uint64_t kMaxTurn = uint64_t{1} << 62;

}  // namespace

void TurnOrder::CountItems(const std::string& worker_id, int64_t items) {
  int64_t& written = written_[worker_id];
  state_.turn.items += std::max<int64_t>(0, items - written);
  written = std::max(written, items);
}

uint64_t TurnOrder::NextCut() const {
  return std::max(state_.turn.since_cut, failed_cut_) + 1;  // Workers repeat their report of the failed one.
}

uint64_t TurnOrder::RequestCut() {
  cut_requested_ = true;
  return NextCut();
}

void TurnOrder::CutFailed(uint64_t cut) {
  if (cut == 0 || cut != state_.turn.cut) {
    return;
  }
  failed_cut_ = cut;
  if (state_.turn.role == Role::kLearner) {
    next_ = {{Role::kActor}};  // In place of the hub's turn for the cut.
  } else {
    state_.turn.cut = 0;
  }
}

TurnState TurnOrder::AfterCut() const {
  TurnOrder later = *this;
  later.Done(Role::kParamServer, state_.turn.number, 0);
  return later.state_;
}

void TurnOrder::Begin(const Next& next) {
  Turn& turn = state_.turn;
  turn.role = next.role;
  turn.cut = next.cut;
  turn.index = next.index;
  ++turn.number;
}

bool TurnOrder::Done(Role role, uint64_t number, int64_t learner_steps) {
  Turn& turn = state_.turn;
  if (number > kMaxTurn) {
    return false;
  }
  if (number > turn.number) {
    turn.number = number + 1;  // An earlier hub gave this turn.
    return true;
  }
  if (role != turn.role || number != turn.number) {
    return false;
  }
  if (role == Role::kLearner && turn.cut == 0) {
    if (IsDue(options_.record_steps, learner_steps, &state_.recorded_at)) {
      for (int64_t i = 0; i < options_.replay_servers; ++i) {
        next_.push_back({Role::kReplayServer, 0, i});
      }
      next_.push_back({Role::kParamServer});
    }
    if (IsDue(options_.evaluation_steps, learner_steps, &state_.evaluated_at)) {
      next_.push_back({Role::kEvaluator});
    }
    if (IsDue(options_.cut_steps, learner_steps, &state_.cut_at) || cut_requested_) {
      cut_requested_ = false;
      const uint64_t cut = NextCut();
      // Weights are published again before the actor acts: a hub that goes back to the cut has none.
      next_.insert(next_.end(), {{Role::kLearner, cut}, {Role::kParamServer, cut}, {Role::kLearner}});
    } else {
      next_.push_back({Role::kActor});
    }
  } else if (role == Role::kParamServer && turn.cut != 0) {
    turn.since_cut = turn.cut;
  }
  Next next;
  if (!next_.empty()) {
    next = next_.front();
    next_.pop_front();
  }
  Begin(next);
  return true;
}

bool TurnOrder::IsDue(int64_t period, int64_t learner_steps, int64_t* last) {
  if (period == 0 || learner_steps / period <= *last / period) {
    return false;
  }
  *last = learner_steps;
  return true;
}

}  // namespace waggle
