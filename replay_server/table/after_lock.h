#pragma once

#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace waggle {

// What is left to do once a lock is released: gathering, freeing, calling back.
using Actions = std::vector<std::function<void()>>;

// Runs the actions in their order, in this thread. If an action calls this again, its actions are run after those
// that wait already, by the outer call: a callback that asks for more each time it is called would otherwise recurse
// without end. None may throw: whoever waits for one of the others would wait for ever.
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
      action = nullptr;  // Lets go of what it holds before the next one is called.
    }
    actions.clear();
    actions.swap(more);
  }
  running = nullptr;
}

}  // namespace waggle
