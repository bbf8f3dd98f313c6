#include "common/base/executor.h"

#include <memory>
#include <vector>

#include "common/base/stop_token.h"
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
  // Each waits for the other: they can only end when both run.
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
  const auto dropped = std::make_shared<int>(0);
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
    REQUIRE_CODE(executor.Submit([dropped] {}), absl::StatusCode::kResourceExhausted);
    CHECK(dropped.use_count() == 1);
    release.RequestStop();
    done.Wait();
    REQUIRE_OK(executor.Submit([] {}));
  }
}

}  // namespace
}  // namespace waggle
