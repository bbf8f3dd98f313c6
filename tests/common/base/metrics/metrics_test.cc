#include "common/base/metrics/metrics.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a counter adds up and a gauge holds its last value", "[unit]") {
  Metrics metrics;
  metrics.Add("env_steps", 2);
  metrics.Add("env_steps", 3.5);
  metrics.Set("loss", 7);
  metrics.Set("loss", -1);
  metrics.SetActivity("waiting for weights");
  metrics.SetLastError("a process was lost");
  const Metrics::Snapshot snapshot = metrics.TakeSnapshot();
  CHECK(snapshot.counters == std::map<std::string, double>{{"env_steps", 5.5}});
  CHECK(snapshot.gauges == std::map<std::string, double>{{"loss", -1}});
  CHECK(snapshot.activity == "waiting for weights");
  CHECK(snapshot.last_error == "a process was lost");
}

TEST_CASE("a gauge is dropped unless it is set again within its lifetime", "[unit]") {
  Metrics metrics;
  metrics.Set("short", 1, absl::Hours(1));
  metrics.Set("long", 2, absl::Hours(1));
  metrics.Set("short", 3, absl::ZeroDuration());
  CHECK(metrics.TakeSnapshot().gauges == std::map<std::string, double>{{"long", 2}});
  metrics.Set("short", 4, absl::Hours(1));
  CHECK(metrics.TakeSnapshot().gauges.at("short") == 4);
}

TEST_CASE("registered functions run before each snapshot, until their registration ends", "[unit]") {
  Metrics metrics;
  int calls = 0;
  {
    const auto registration = metrics.BeforeSnapshot([&] { metrics.Set("x", ++calls); });
    CHECK(metrics.TakeSnapshot().gauges.at("x") == 1);
    CHECK(metrics.TakeSnapshot().gauges.at("x") == 2);
  }
  CHECK(metrics.TakeSnapshot().gauges.at("x") == 2);
}

TEST_CASE("a function does not run after its registration, although snapshots are taken all the time", "[unit]") {
  Metrics metrics;
  std::atomic<int> late{0};
  const StopToken enough;
  {
    const Thread reader("reader", [&] {
      while (!enough.StopRequested()) {
        metrics.TakeSnapshot();
      }
    });
    for (int i = 0; i < 1000; ++i) {
      const auto ended = std::make_shared<std::atomic<bool>>(false);
      auto registration = metrics.BeforeSnapshot([ended, &late] {
        std::this_thread::yield();  // Makes snapshots under way likely at the end.
        late += *ended ? 1 : 0;
      });
      registration.reset();
      *ended = true;
    }
    enough.RequestStop();
  }
  CHECK(late == 0);
}

TEST_CASE("no addition of several threads is lost", "[unit]") {
  Metrics metrics;
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back("adder", [&metrics] {
        for (int j = 0; j < 1000; ++j) {
          metrics.Add("x", 1);
          metrics.Set("y", 1);
          metrics.TakeSnapshot();
        }
      });
    }
  }
  CHECK(metrics.TakeSnapshot().counters.at("x") == 4000);
}

}  // namespace
}  // namespace waggle
