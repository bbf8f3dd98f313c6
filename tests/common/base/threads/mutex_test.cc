#include "common/base/threads/mutex.h"

#include <cstdint>
#include <vector>

#include "common/base/threads/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a mutex keeps others out", "[unit]") {
  Mutex mutex;
  int64_t count = 0;
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back("counter", [&] {
        for (int j = 0; j < 1000; ++j) {
          MutexLock lock(&mutex);
          ++count;
        }
      });
    }
  }
  CHECK(count == 4000);
}

TEST_CASE("a wait ends with its timeout and holds the lock again", "[unit]") {
  Mutex mutex;
  CondVar condition;
  MutexLock lock(&mutex);
  CHECK_FALSE(condition.WaitFor(&mutex, absl::Milliseconds(1)));
  CHECK_FALSE(condition.WaitFor(&mutex, -absl::Seconds(1)));
  CHECK_FALSE(condition.WaitFor(&mutex, -absl::InfiniteDuration()));
}

TEST_CASE("a wait without end is woken by a signal", "[unit]") {
  Mutex mutex;
  CondVar condition;
  bool ready = false;
  bool seen = false;
  {
    Thread waiter("waiter", [&] {
      MutexLock lock(&mutex);
      while (!ready) {
        condition.WaitFor(&mutex, absl::InfiniteDuration());
      }
      seen = true;
    });
    MutexLock lock(&mutex);
    ready = true;
    condition.Signal();
  }
  CHECK(seen);
}

}  // namespace
}  // namespace waggle
