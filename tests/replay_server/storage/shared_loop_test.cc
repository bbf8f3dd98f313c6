#include "replay_server/storage/shared_loop.h"

#include <atomic>
#include <functional>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "tests/support/catch.h"
#include "tests/support/failing_memory.h"

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

TEST_CASE("Memory that runs out when the others are asked throws nothing past those who are at work", "[unit]") {
  const bool for_good = GENERATE(false, true);
  bool failed = true;
  for (int64_t allocations = 0; failed; ++allocations) {
    CAPTURE(allocations, for_good);
    std::vector<std::atomic<int>> calls(10);
    const std::function<void(size_t)> work = [&calls](size_t number) { ++calls[number]; };
    bool thrown = false;
    {
      Executor executor("test", 3, 100);
      testing::FailMemory(allocations, for_good);
      try {
        SharedLoop(&executor, 3, calls.size(), work);
      } catch (const std::bad_alloc&) {  // Before anybody was asked.
        thrown = true;
      }
      failed = testing::StopFailingMemory();
      for (const std::atomic<int>& each : calls) {
        CHECK(each == (thrown ? 0 : 1));
      }
    }
    for (const std::atomic<int>& each : calls) {  // Nobody has come later.
      CHECK(each == (thrown ? 0 : 1));
    }
    CHECK((failed || !thrown));
  }
}

}  // namespace
}  // namespace waggle
