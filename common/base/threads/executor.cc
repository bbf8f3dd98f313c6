#include "common/base/threads/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

Executor::LaneOptions Sharing(size_t max_queued) {
  Executor::LaneOptions options;
  options.max_queued = max_queued;
  return options;
}

}  // namespace

Executor::Executor(const std::string& name, int threads, size_t max_queued)
    : max_queued_(max_queued), shared_(std::make_shared<Queue>(Sharing(max_queued))) {
  threads_.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back(absl::StrCat(name, "-", i), [this] { Run(); });
  }
}

Executor::~Executor() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  threads_.clear();
}

absl::Status Executor::SubmitBytes(int64_t bytes, std::function<void()> task) {
  return SubmitTo(shared_, bytes, std::move(task));
}

absl::Status Executor::SubmitTo(const std::shared_ptr<Queue>& queue, int64_t bytes, std::function<void()> run) {
  MutexLock lock(&mutex_);
  const LaneOptions& options = queue->options;
  if (queued_ >= max_queued_ || queue->tasks.size() >= options.max_queued ||
      (!queue->tasks.empty() && bytes > options.max_queued_bytes - queue->queued_bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(queue->tasks.size(), " tasks of ", queue->queued_bytes,
                                                     " bytes wait already, ", queued_, " in all"));
  }
  queue->tasks.push_back({std::move(run), bytes});
  queue->queued_bytes += bytes;
  ++queued_;
  if (queue->group == nullptr) {
    queue->group = &groups_[options.group];
  }
  JoinLocked(queue);
  changed_.Signal();
  return absl::OkStatus();
}

void Executor::JoinLocked(const std::shared_ptr<Queue>& queue) {
  if (!queue->joined && !queue->tasks.empty() && queue->running < queue->options.max_running) {
    queue->served = queue->group->lanes.Join(queue->served, queue);
    queue->joined = true;
    JoinGroupLocked(queue->group);
  }
}

void Executor::JoinGroupLocked(Group* group) {
  if (!group->joined && !group->lanes.empty()) {
    group->served = turns_.Join(group->served, group);
    group->joined = true;
  }
}

Executor::Task Executor::NextLocked(std::shared_ptr<Queue>* queue) {
  Group* const group = turns_.Next();
  *queue = group->lanes.Next();
  Task task = std::move((*queue)->tasks.front());
  (*queue)->tasks.pop_front();
  (*queue)->queued_bytes -= task.bytes;
  --queued_;
  group->joined = false;
  group->served += task.bytes + kTaskBytes;
  (*queue)->joined = false;
  (*queue)->served += task.bytes + kTaskBytes;
  ++(*queue)->running;
  JoinLocked(*queue);
  JoinGroupLocked(group);
  return task;
}

void Executor::Run() {
  for (;;) {
    std::shared_ptr<Queue> queue;
    Task task;
    {
      MutexLock lock(&mutex_);
      while (turns_.empty()) {
        if (stopping_) {
          return;  // Threads that run tasks of a lane run its later ones too.
        }
        changed_.Wait(&mutex_);
      }
      task = NextLocked(&queue);
    }
    task.run();
    task.run = nullptr;
    MutexLock lock(&mutex_);
    --queue->running;
    JoinLocked(queue);  // No wake-up is needed: this thread continues.
  }
}

}  // namespace waggle
