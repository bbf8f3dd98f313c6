#include "param_server/run/turn_order.h"

#include <algorithm>

namespace waggle {
namespace {

// Larger turns can only be wrong, as turns are counted up by one.
constexpr uint64_t kMaxTurn = uint64_t{1} << 62;

}  // namespace

void TurnOrder::CountItems(const std::string& worker_id, int64_t items) {
  int64_t& written = written_[worker_id];
  turn_.items += std::max<int64_t>(0, items - written);
  written = std::max(written, items);
}

bool TurnOrder::Done(Role role, uint64_t number, int64_t learner_steps) {
  if (number > kMaxTurn) {
    return false;
  }
  if (number > turn_.number) {
    turn_.number = number + 1;  // An earlier hub gave this turn.
    return true;
  }
  if (role != turn_.role || number != turn_.number) {
    return false;
  }
  if (role == Role::kLearner) {
    if (IsDue(options_.record_steps, learner_steps, &recorded_at_)) {
      next_ = {Role::kReplayServer, Role::kParamServer};
    }
    if (IsDue(options_.evaluation_steps, learner_steps, &evaluated_at_)) {
      next_.push_back(Role::kEvaluator);
    }
    next_.push_back(Role::kActor);
  }
  turn_.role = next_.empty() ? Role::kLearner : next_.front();
  if (!next_.empty()) {
    next_.pop_front();
  }
  ++turn_.number;
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
