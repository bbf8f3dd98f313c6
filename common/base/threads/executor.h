#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/threads/fair_turns.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/task_queue.h"
#include "common/base/threads/thread.h"

namespace waggle {

// A fixed number of threads for tasks that would delay other threads. Thread-safe.
//
// Tasks wait in lanes and start in order within a lane. Lanes take turns by the bytes of their tasks, so a busy lane
// gets no more than others, whatever its tasks' size and number. Groups of lanes take turns likewise, however many
// lanes they have.
class Executor final : public TaskQueue {
 public:
  struct LaneOptions {
    int group = 0;
    // Limits of waiting tasks. One may always wait, whatever its bytes.
    size_t max_queued = 1024;
    int64_t max_queued_bytes = std::numeric_limits<int64_t>::max();
    // Limit of tasks that run at once, so that long ones do not take all threads.
    int max_running = std::numeric_limits<int>::max();
  };

  // Cost of a task besides its bytes, in bytes.
  static constexpr int64_t kTaskBytes = 4096;

  // A queue of its own, for example a stream's. May be destroyed at any time; submitted tasks still run.
  class Lane;

  // Threads are named NAME-0, NAME-1, …. At most `max_queued` tasks wait in all lanes.
  Executor(const std::string& name, int threads, size_t max_queued);
  // Runs all queued tasks, then joins. Must not run on one of its own threads.
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Tasks without a lane share one, in group 0.
  absl::Status SubmitBytes(int64_t bytes, std::function<void()> task) override;

  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  struct Task {
    std::function<void()> run;
    int64_t bytes = 0;
  };
  struct Group;
  // All but the options belongs to the executor, under its lock. Its Lane and its waiting tasks keep it alive.
  struct Queue {
    explicit Queue(const LaneOptions& its_options) : options(its_options) {}

    const LaneOptions options;
    Group* group = nullptr;  // Set with the first task.
    std::deque<Task> tasks;
    int64_t queued_bytes = 0;
    int64_t served = 0;
    int running = 0;
    bool joined = false;  // Waits for a turn in its group.
  };
  struct Group {
    FairTurns<std::shared_ptr<Queue>> lanes;
    int64_t served = 0;
    bool joined = false;
  };

  absl::Status SubmitTo(const std::shared_ptr<Queue>& queue, int64_t bytes, std::function<void()> run)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets the queue take turns if it has tasks and may run them.
  void JoinLocked(const std::shared_ptr<Queue>& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinGroupLocked(Group* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next task and its queue. A queue must wait for a turn.
  Task NextLocked(std::shared_ptr<Queue>* queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t max_queued_;
  const std::shared_ptr<Queue> shared_;
  Mutex mutex_;
  CondVar changed_;
  std::map<int, Group> groups_ ABSL_GUARDED_BY(mutex_);
  FairTurns<Group*> turns_ ABSL_GUARDED_BY(mutex_);
  size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;  // Last: they use the members above.
};

class Executor::Lane final : public TaskQueue {
 public:
  // The executor must outlive all calls.
  Lane(Executor* executor, const LaneOptions& options)
      : executor_(executor), queue_(std::make_shared<Queue>(options)) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  absl::Status SubmitBytes(int64_t bytes, std::function<void()> task) override {
    return executor_->SubmitTo(queue_, bytes, std::move(task));
  }

 private:
  Executor* const executor_;
  const std::shared_ptr<Queue> queue_;
};

}  // namespace waggle
