#include "common/metrics/metrics.h"

#include <vector>

#include "common/base/thread.h"
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
  const Metrics::Snapshot snapshot = metrics.TakeSnapshot();
  CHECK(snapshot.counters == std::map<std::string, double>{{"env_steps", 5.5}});
  CHECK(snapshot.gauges == std::map<std::string, double>{{"loss", -1}});
  CHECK(snapshot.activity == "waiting for weights");
}

TEST_CASE("a snapshot does not change afterwards", "[unit]") {
  Metrics metrics;
  metrics.Add("x", 1);
  const Metrics::Snapshot snapshot = metrics.TakeSnapshot();
  metrics.Add("x", 1);
  CHECK(snapshot.counters.at("x") == 1);
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
