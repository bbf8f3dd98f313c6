#pragma once

#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <utility>

namespace waggle {

// What is left to do once a lock is released: gathering, freeing, calling back. Once it is among these nothing keeps it
// from being done: that takes no more memory.
class Actions {
 public:
  using Nodes = std::list<std::function<void()>>;

  Actions() = default;
  Actions(std::initializer_list<std::function<void()>> actions) : nodes_(actions) {}

  // Where memory runs out they are as they were.
  void push_back(std::function<void()> action) { nodes_.push_back(std::move(action)); }
  // Calls `call` with `*done`, which is empty from then on. Where memory runs out both are as they were.
  template <class Done, class Call>
  void PushCall(Done* done, Call call) {
    auto taken = std::make_shared<Done>();
    nodes_.push_back([taken, call = std::move(call)]() mutable { call(*taken); });
    taken->swap(*done);
  }
  // Takes all that are there. Takes no memory.
  void Splice(Nodes* nodes) { nodes_.splice(nodes_.end(), *nodes); }

 private:
  friend void RunAfterLock(Actions actions) noexcept;

  Nodes nodes_;
};

// Runs the actions in their order, in this thread. If an action calls this again, its actions are run after those
// that wait already, by the outer call: a callback that asks for more each time it is called would otherwise recurse
// without end. Memory that runs out in an action ends the process: the request that it answers would wait for ever.
inline void RunAfterLock(Actions actions) noexcept {
  thread_local Actions::Nodes* running = nullptr;
  if (running != nullptr) {
    running->splice(running->end(), actions.nodes_);
    return;
  }
  Actions::Nodes& queue = actions.nodes_;
  running = &queue;
  while (!queue.empty()) {
    const std::function<void()> action = std::move(queue.front());
    queue.pop_front();
    action();
  }
  running = nullptr;
}

}  // namespace waggle
