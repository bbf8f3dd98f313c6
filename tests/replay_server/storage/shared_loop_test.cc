#include "replay_server/storage/shared_loop.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("each number is worked on once", "[unit]") {
  Executor executor("test", 3, 100);
  for (const size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> calls(count);
    SharedLoop(&executor, 3, count, [&calls](size_t number) { ++calls[number]; });
    for (const std::atomic<int>& each : calls) {
      CHECK(each == 1);
    }
  }
}

TEST_CASE("free threads of the executor take part", "[unit]") {
  Executor executor("test", 2, 100);
  Mutex mutex;
  CondVar changed;
  std::set<std::thread::id> threads;
  SharedLoop(&executor, 2, 3, [&](size_t /*number*/) {  // Three calls that wait for each other.
    MutexLock lock(&mutex);
    threads.insert(std::this_thread::get_id());
    changed.SignalAll();
    while (threads.size() < 3) {
      changed.Wait(&mutex);
    }
  });
  CHECK(threads.count(std::this_thread::get_id()) == 1);
}

TEST_CASE("a loop does not wait for busy threads", "[unit]") {
  Executor executor("test", 1, 1);
  const StopToken release;
  REQUIRE_OK(executor.Submit([release] { release.Wait(); }));
  int calls = 0;                 // All by this thread.
  for (int i = 0; i < 3; ++i) {  // The queue is full from the second one on.
    SharedLoop(&executor, 5, 10, [&calls](size_t /*number*/) { ++calls; });
  }
  CHECK(calls == 30);
  release.RequestStop();
}

}  // namespace
}  // namespace waggle
