#include "replay_server/storage/shared_loop.h"

#include <memory>
#include <new>
#include <utility>

#include "common/base/mutex.h"

namespace waggle {
namespace {

// Helpers that come when all is taken find it still there, and nothing to do.
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

// Whether somebody will. One fewer where there is no memory to ask for that: others may be at work already, on what is
// the caller's, so nothing may be thrown past them.
bool AskForHelp(Executor* executor, const std::shared_ptr<Loop>& loop) {
  try {
    return executor->Submit([loop] { TakePart(loop.get()); }).ok();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void SharedLoop(Executor* executor, size_t helpers, size_t count, std::function<void(size_t)> work) {
  const auto loop = std::make_shared<Loop>(count, std::move(work));
  for (size_t i = 0; i + 1 < count && i < helpers && AskForHelp(executor, loop); ++i) {
  }
  TakePart(loop.get());
  MutexLock lock(&loop->mutex);
  while (loop->done < loop->count) {
    loop->changed.Wait(&loop->mutex);
  }
}

}  // namespace waggle
