#pragma once

#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "replay_server/items/table_state.h"

namespace waggle {

// Work for after a lock is released: gathering, freeing, calling back.
using Actions = std::vector<std::function<void()>>;

// Runs the actions in order in this thread. A nested call leaves its actions to the outer call, or callbacks that ask
// for more would recurse without end. Actions must not throw: callers of later ones would hang.
inline void RunAfterLock(Actions actions) noexcept {
  thread_local Actions* running = nullptr;
  if (running != nullptr) {
    running->insert(running->end(), std::make_move_iterator(actions.begin()), std::make_move_iterator(actions.end()));
    return;
  }
  Actions more;
  running = &more;
  while (!actions.empty()) {
    for (std::function<void()>& action : actions) {
      action();
      action = nullptr;  // Destroys its captures before the next call.
    }
    actions.clear();
    actions.swap(more);
  }
  running = nullptr;
}

// All that a change of a table leaves for after its lock. Rows are freed before answers are given.
struct AfterLock {
  RemovedRows removed;
  Actions actions;

  void Run() {
    removed.clear();
    RunAfterLock(std::move(actions));
  }
};

}  // namespace waggle
