#include "common/base/threads/executor.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("An executor with one thread runs tasks in order, and all of them before it ends", "[unit]") {
  std::vector<int> order;
  {
    Executor executor("test", 1, 1'000);
    for (int i = 0; i < 500; ++i) {
      REQUIRE_OK(executor.Submit([&order, i] { order.push_back(i); }));
    }
  }
  REQUIRE(order.size() == 500);
  for (int i = 0; i < 500; ++i) {
    REQUIRE(order[i] == i);
  }
}

TEST_CASE("An executor runs as many tasks at once as it has threads", "[unit]") {
  const StopToken first;
  const StopToken second;
  Executor executor("test", 2, 10);
  // Each waits for the other, so both must run at once.
  REQUIRE_OK(executor.Submit([first, second] {
    first.RequestStop();
    second.Wait();
  }));
  REQUIRE_OK(executor.Submit([first, second] {
    second.RequestStop();
    first.Wait();
  }));
}

TEST_CASE("A full executor refuses tasks and takes them again once it has room", "[unit]") {
  const StopToken started;
  const StopToken release;
  const StopToken done;
  {
    Executor executor("test", 1, 2);
    REQUIRE_OK(executor.Submit([started, release] {
      started.RequestStop();
      release.Wait();
    }));
    started.Wait();
    REQUIRE_OK(executor.Submit([] {}));
    REQUIRE_OK(executor.Submit([done] { done.RequestStop(); }));
    REQUIRE_CODE(executor.Submit([] {}), absl::StatusCode::kResourceExhausted);
    release.RequestStop();
    done.Wait();
    REQUIRE_OK(executor.Submit([] {}));
  }
}

// An executor whose only thread is held up until Run, so that the order of its tasks depends on the submissions alone.
struct HeldUp {
  HeldUp() {
    REQUIRE_OK(executor->Submit([started = started, release = release] {
      started.RequestStop();
      release.Wait();
    }));
    started.Wait();
  }
  ~HeldUp() { release.RequestStop(); }

  static Executor::LaneOptions In(int group) {
    Executor::LaneOptions options;
    options.group = group;
    return options;
  }
  // `count` tasks that write `name`.
  void Submit(TaskQueue* lane, char name, int count, int64_t bytes) {
    for (int i = 0; i < count; ++i) {
      REQUIRE_OK(lane->SubmitBytes(bytes, [this, name] { ran += name; }));
    }
  }
  // The names of the tasks, in the order in which they ran.
  std::string Run() {
    release.RequestStop();
    executor.reset();
    return ran;
  }

  const StopToken started;
  const StopToken release;
  std::string ran;
  std::unique_ptr<Executor> executor = std::make_unique<Executor>("test", 1, 10'000);
};

TEST_CASE("Lanes take turns, however many tasks wait in one", "[unit]") {
  HeldUp held;
  Executor::Lane a(held.executor.get(), HeldUp::In(1));
  Executor::Lane b(held.executor.get(), HeldUp::In(1));
  held.Submit(&a, 'a', 100, 1'000);
  held.Submit(&b, 'b', 3, 1'000);
  CHECK(held.Run() == "ababab" + std::string(97, 'a'));
}

TEST_CASE("Turns are reckoned by bytes: large tasks give no larger share", "[unit]") {
  HeldUp held;
  Executor::Lane large(held.executor.get(), HeldUp::In(1));
  Executor::Lane small(held.executor.get(), HeldUp::In(1));
  constexpr int64_t kSmall = 1'000;
  // Costs as much as ten small tasks, kTaskBytes included.
  constexpr int64_t kLarge = 10 * (kSmall + Executor::kTaskBytes) - Executor::kTaskBytes;
  held.Submit(&large, 'L', 4, kLarge);
  held.Submit(&small, 's', 30, kSmall);
  const std::string ten(10, 's');
  CHECK(held.Run() == "L" + ten + "L" + ten + "L" + ten + "L");
}

TEST_CASE("Groups take turns, however many lanes one has", "[unit]") {
  HeldUp held;
  std::vector<std::unique_ptr<Executor::Lane>> flood;
  for (const char name : std::string("abcd")) {
    flood.push_back(std::make_unique<Executor::Lane>(held.executor.get(), HeldUp::In(1)));
    held.Submit(flood.back().get(), name, 3, 1'000);
  }
  Executor::Lane one(held.executor.get(), HeldUp::In(2));
  held.Submit(&one, 'x', 6, 1'000);
  CHECK(held.Run() == "axbxcxdxaxbxcdabcd");
}

TEST_CASE("Tasks without a lane take turns with the lanes", "[unit]") {
  HeldUp held;
  Executor::Lane lane(held.executor.get(), HeldUp::In(1));
  held.Submit(&lane, 'a', 50, 1 << 20);
  held.Submit(held.executor.get(), 'x', 2, 0);
  // Includes the task that holds the thread.
  CHECK(held.Run().substr(0, 4) == "axxa");
}

TEST_CASE("A late lane is served soon, and the tasks of a destroyed lane still run", "[unit]") {
  HeldUp held;
  Executor::Lane flood(held.executor.get(), HeldUp::In(1));
  held.Submit(&flood, 'a', 10, 1'000);
  Executor* const executor = held.executor.get();
  REQUIRE_OK(flood.SubmitBytes(1'000, [&held, executor] {
    held.ran += '!';
    Executor::Lane late(executor, HeldUp::In(1));
    for (int i = 0; i < 3; ++i) {  // The checks below see the result.
      late.SubmitBytes(1'000, [&held] { held.ran += 'b'; }).IgnoreError();
    }
  }));
  held.Submit(&flood, 'a', 10, 1'000);
  CHECK(held.Run() == std::string(10, 'a') + "!bababa" + std::string(7, 'a'));
}

TEST_CASE("A full lane, by tasks or bytes, does not limit other lanes", "[unit]") {
  HeldUp held;
  Executor::LaneOptions options = HeldUp::In(1);
  options.max_queued = 3;
  options.max_queued_bytes = 100;
  Executor::Lane lane(held.executor.get(), options);
  Executor::Lane other(held.executor.get(), options);
  held.Submit(&lane, 'a', 1, 5'000);  // One may always wait.
  REQUIRE_CODE(lane.SubmitBytes(1, [] {}), absl::StatusCode::kResourceExhausted);
  held.Submit(&other, 'b', 2, 50);
  REQUIRE_CODE(other.SubmitBytes(1, [] {}), absl::StatusCode::kResourceExhausted);
  held.Submit(&other, 'b', 1, 0);
  REQUIRE_CODE(other.SubmitBytes(0, [] {}), absl::StatusCode::kResourceExhausted);
  CHECK(held.Run() == "abbb");
}

TEST_CASE("A lane whose tasks take long leaves threads for others", "[unit]") {
  const StopToken release;
  Mutex mutex;
  int running = 0;
  int most = 0;
  {
    Executor executor("test", 3, 100);
    Executor::LaneOptions options = HeldUp::In(1);
    options.max_running = 2;
    Executor::Lane slow(&executor, options);
    for (int i = 0; i < 5; ++i) {
      REQUIRE_OK(slow.Submit([&] {
        {
          MutexLock lock(&mutex);
          most = std::max(most, ++running);
        }
        release.Wait();
        MutexLock lock(&mutex);
        --running;
      }));
    }
    for (int i = 0; i < 10; ++i) {
      const StopToken ran;
      REQUIRE_OK(executor.Submit([ran] { ran.RequestStop(); }));
      REQUIRE(ran.WaitFor(absl::Seconds(30)));
    }
    release.RequestStop();
  }
  CHECK(running == 0);
  CHECK(most <= 2);
}

}  // namespace
}  // namespace waggle
