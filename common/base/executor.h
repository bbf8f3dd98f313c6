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
#include "common/base/fair_turns.h"
#include "common/base/mutex.h"
#include "common/base/task_queue.h"
#include "common/base/thread.h"

namespace waggle {

// A fixed number of threads that run tasks: where work goes that would hold up somebody else's thread. Thread-safe.
//
// Tasks wait in lanes, and each lane's run in the order in which they came. Lanes take turns, by the bytes that their
// tasks go through: one that always has something to do gets no more than any other, however large its tasks are or how
// many wait. Lanes are in groups, and the groups take turns in the same way, however many lanes they have.
class Executor final : public TaskQueue {
 public:
  struct LaneOptions {
    int group = 0;
    // Of tasks that wait; one always may, whatever its bytes.
    size_t max_queued = 1024;
    int64_t max_queued_bytes = std::numeric_limits<int64_t>::max();
    // So many of its tasks run at a time: for those that take long, so that they never have all threads.
    int max_running = std::numeric_limits<int>::max();
  };

  // What one task costs beside its bytes, in bytes.
  static constexpr int64_t kTaskBytes = 4096;

  // A queue of its own, for one stream for example. May go at any time, after the executor too; what was submitted
  // still runs.
  class Lane;

  // Threads are called NAME-0, NAME-1, …; at most `max_queued` tasks wait, over all lanes.
  Executor(const std::string& name, int threads, size_t max_queued);
  // Runs what is queued, then joins. Must not run on one of the executor's own threads.
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // To the lane, in group 0, of those that have none.
  absl::Status SubmitBytes(int64_t bytes, std::function<void()> task) override;

  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  struct Task {
    std::function<void()> run;
    int64_t bytes = 0;
  };
  struct Group;
  // All but the options is the executor's, under its lock. Kept by its Lane, and while it has tasks by the executor.
  struct Queue {
    explicit Queue(const LaneOptions& its_options) : options(its_options) {}

    const LaneOptions options;
    Group* group = nullptr;  // Once it has had a task.
    std::deque<Task> tasks;
    int64_t queued_bytes = 0;
    int64_t had = 0;
    int running = 0;
    bool joined = false;  // It is among its group's lanes that want a turn.
  };
  struct Group {
    FairTurns<std::shared_ptr<Queue>> lanes;
    int64_t had = 0;
    bool joined = false;
  };

  absl::Status SubmitTo(const std::shared_ptr<Queue>& queue, int64_t bytes, std::function<void()> run)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Has it take part in the turns, if it has something to do and may.
  void JoinLocked(const std::shared_ptr<Queue>& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinGroupLocked(Group* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task whose turn it is, and whose it is; somebody has to want a turn.
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
  std::vector<Thread> threads_;  // Last: they use everything above.
};

class Executor::Lane final : public TaskQueue {
 public:
  // The executor outlives every call.
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
