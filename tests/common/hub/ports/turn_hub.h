#pragma once

#include <cstdint>
#include <functional>

#include "tests/common/hub/ports/fake_hub_link.h"

namespace waggle::testing {

// Gives one role a turn at each wait, until training is over. One thread.
class TurnHub : public FakeHubLink {
 public:
  TurnHub(Role role, int64_t turns) : role_(role), turns_(turns) {}

  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken& stop) override {
    after.run_state = given_ < turns_ ? RunState::kRunning : RunState::kFinishing;
    if (given_ < turns_) {
      ++given_;
      // Other roles have turns in between.
      after.turn = Turn{3 * static_cast<uint64_t>(given_), role_, items_a_turn * given_};
    } else {
      over.RequestStop();
    }
    if (on_turn != nullptr) {
      on_turn(given_, &after);
    }
    return FakeHubLink::WaitUntil(condition, stop);
  }

  int64_t items_a_turn = 0;
  // Called before each turn, and before the end of training.
  std::function<void(int64_t turn, Assignment* assignment)> on_turn;

 private:
  const Role role_;
  const int64_t turns_;
  int64_t given_ = 0;
};

}  // namespace waggle::testing
