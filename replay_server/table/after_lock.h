#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace waggle {

// What is left to do once a lock is released: gathering, freeing, calling back.
using Actions = std::vector<std::function<void()>>;

// Runs the actions in their order, in this thread. Where an action calls this again, its actions are run after those
// that wait already, by the outer call: a callback that asks for more each time it is called would otherwise recurse
// without end.
inline void RunAfterLock(Actions actions) {
  thread_local std::deque<std::function<void()>>* running = nullptr;
  if (running != nullptr) {
    for (auto& action : actions) {
      running->push_back(std::move(action));
    }
    return;
  }
  std::deque<std::function<void()>> queue(std::make_move_iterator(actions.begin()),
                                          std::make_move_iterator(actions.end()));
  running = &queue;
  // Memory may run out in one action. The others are other clients', and are run all the same.
  std::exception_ptr thrown;
  while (!queue.empty()) {
    const std::function<void()> action = std::move(queue.front());
    queue.pop_front();
    try {
      action();
    } catch (...) {
      thrown = thrown == nullptr ? std::current_exception() : thrown;
    }
  }
  running = nullptr;
  if (thrown != nullptr) {
    std::rethrow_exception(thrown);
  }
}

}  // namespace waggle
