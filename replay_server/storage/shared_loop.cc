#include "replay_server/storage/shared_loop.h"

#include <memory>
#include <utility>

#include "common/base/threads/mutex.h"

namespace waggle {
namespace {

// Shared, because helpers may start after the loop has ended.
struct Loop {
  Loop(size_t its_count, std::function<void(size_t)> its_work) : count(its_count), work(std::move(its_work)) {}

  const size_t count;
  const std::function<void(size_t)> work;
  Mutex mutex;
  CondVar changed;
  size_t taken ABSL_GUARDED_BY(mutex) = 0;
  size_t done ABSL_GUARDED_BY(mutex) = 0;
};

void TakePart(Loop* loop) {
  for (;;) {
    size_t number = 0;
    {
      MutexLock lock(&loop->mutex);
      if (loop->taken == loop->count) {
        return;
      }
      number = loop->taken++;
    }
    loop->work(number);
    MutexLock lock(&loop->mutex);
    if (++loop->done == loop->count) {
      loop->changed.SignalAll();
    }
  }
}

}  // namespace

void SharedLoop(Executor* executor, size_t helpers, size_t count, std::function<void(size_t)> work) {
  const auto loop = std::make_shared<Loop>(count, std::move(work));
  for (size_t i = 0; i + 1 < count && i < helpers; ++i) {
    if (!executor->Submit([loop] { TakePart(loop.get()); }).ok()) {
      break;
    }
  }
  TakePart(loop.get());
  MutexLock lock(&loop->mutex);
  while (loop->done < loop->count) {
    loop->changed.Wait(&loop->mutex);
  }
}

}  // namespace waggle
