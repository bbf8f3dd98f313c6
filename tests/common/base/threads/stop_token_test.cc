#include "common/base/threads/stop_token.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/threads/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an unregistered function's captures may use the token in their destructors", "[unit]") {
  const StopToken token;
  bool looked = false;
  {
    std::shared_ptr<int> owned(new int(0), [token, &looked](const int* number) {
      looked = !token.StopRequested();
      delete number;
    });
    const StopToken::Callback callback(token, [kept = std::move(owned)] { (void)kept; });
  }
  CHECK(looked);
}

TEST_CASE("a request reaches every copy and is final", "[unit]") {
  const StopToken token;
  const StopToken copy = token;
  CHECK_FALSE(copy.StopRequested());
  CHECK_FALSE(copy.WaitFor(absl::ZeroDuration()));
  CHECK_FALSE(copy.WaitFor(absl::Milliseconds(2)));
  token.RequestStop();
  token.RequestStop();
  CHECK(copy.StopRequested());
  CHECK(copy.WaitFor(absl::ZeroDuration()));
  CHECK(copy.WaitFor(absl::InfiniteDuration()));
  copy.Wait();
  CHECK_FALSE(StopToken().StopRequested());
}

TEST_CASE("a request wakes all waiting threads", "[unit]") {
  const StopToken token;
  std::vector<char> woken(4);
  {
    std::vector<Thread> threads;
    for (size_t i = 0; i < woken.size(); ++i) {
      threads.emplace_back("waiter", [&token, &woken, i] {
        if (i % 2 == 0) {
          token.Wait();
          woken[i] = 1;
        } else {
          woken[i] = token.WaitFor(absl::Hours(1)) ? 1 : 0;
        }
      });
    }
    token.RequestStop();
  }
  CHECK(woken == std::vector<char>(4, 1));
}

TEST_CASE("callbacks run once, in their order", "[unit]") {
  const StopToken token;
  std::string calls;
  const StopToken::Callback first(token, [&] { calls += "a"; });
  const StopToken::Callback second(token, [&] { calls += "b"; });
  CHECK(calls.empty());
  token.RequestStop();
  token.RequestStop();
  CHECK(calls == "ab");
}

TEST_CASE("a callback that comes too late runs at once", "[unit]") {
  const StopToken token;
  token.RequestStop();
  int calls = 0;
  {
    const StopToken::Callback callback(token, [&] { ++calls; });
  }
  CHECK(calls == 1);
}

TEST_CASE("a callback that is gone does not run", "[unit]") {
  const StopToken token;
  int calls = 0;
  {
    const StopToken::Callback callback(token, [&calls] { ++calls; });
  }
  token.RequestStop();
  CHECK(calls == 0);
}

TEST_CASE("a callback may ask for the stop again, look at the token and destroy callbacks", "[unit]") {
  const StopToken token;
  bool requested = false;
  int calls = 0;
  std::optional<StopToken::Callback> first;
  std::optional<StopToken::Callback> second;
  first.emplace(token, [&] {
    ++calls;
    token.RequestStop();
    requested = token.StopRequested();
    first.reset();
    second.reset();
  });
  second.emplace(token, [&] { ++calls; });
  token.RequestStop();
  CHECK(requested);
  CHECK(calls == 1);
}

TEST_CASE("the destructor waits while another thread runs the function", "[unit]") {
  const StopToken token;
  const StopToken started;
  std::atomic<bool> ended{false};
  std::optional<StopToken::Callback> callback;
  callback.emplace(token, [&] {
    started.RequestStop();
    StopToken().WaitFor(absl::Milliseconds(5));  // Long enough to notice a destructor that does not wait.
    ended = true;
  });
  Thread stopper("stopper", [&] { token.RequestStop(); });
  started.Wait();
  callback.reset();
  CHECK(ended);
}

TEST_CASE("callbacks that come and go while a stop is requested run at most once", "[unit]") {
  for (int round = 0; round < 50; ++round) {
    const StopToken token;
    std::vector<int> calls(4 * 20);
    std::vector<Thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back("callbacks", [&, t] {
        for (size_t i = 0; i < 20; ++i) {
          // On the stack, and touched without a lock: the destructor orders the two threads.
          int called = 0;
          {
            const StopToken::Callback callback(token, [&called] { ++called; });
          }
          calls[t * 20 + i] = called;
        }
      });
    }
    token.RequestStop();
    threads.clear();
    for (const int count : calls) {
      REQUIRE(count <= 1);
    }
  }
}

}  // namespace
}  // namespace waggle
