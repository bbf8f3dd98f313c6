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

TEST_CASE("Each number is worked on once, however many threads take part", "[unit]") {
  Executor executor("test", 3, 100);
  for (const size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> calls(count);
    SharedLoop(&executor, 3, count, [&calls](size_t number) { ++calls[number]; });
    for (const std::atomic<int>& each : calls) {
      CHECK(each == 1);
    }
  }
}

TEST_CASE("Threads of the executor that have time take part", "[unit]") {
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

TEST_CASE("Nobody waits for threads that are busy elsewhere", "[unit]") {
  Executor executor("test", 1, 1);
  const StopToken release;
  REQUIRE_OK(executor.Submit([release] { release.Wait(); }));
  int calls = 0;                 // This thread makes them all.
  for (int i = 0; i < 3; ++i) {  // The queue is full from the second one on.
    SharedLoop(&executor, 5, 10, [&calls](size_t /*number*/) { ++calls; });
  }
  CHECK(calls == 30);
  release.RequestStop();
}

}  // namespace
}  // namespace waggle
