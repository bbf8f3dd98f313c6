#include "common/base/metrics/waiting_gauge.h"

#include "common/base/threads/mutex.h"
#include "common/base/threads/wait_clock.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a snapshot has a thread's wait and its fraction while it lasts", "[unit]") {
  Metrics metrics;
  WaitClock clock;
  {
    const WaitingGauge gauge(
        &metrics, {"working", "waiting for items"},
        [&clock] {
          return WaitingGauge::Wait{clock.total(), clock.waiting()};
        },
        absl::ZeroDuration());
    CHECK(metrics.TakeSnapshot().activity == "working");
    clock.Begin();
    metrics.TakeSnapshot();
    const Metrics::Snapshot stuck = metrics.TakeSnapshot();
    CHECK(stuck.activity == "waiting for items");
    CHECK(stuck.gauges.at("waiting_fraction") > 0);
    clock.End();
    metrics.TakeSnapshot();
    const Metrics::Snapshot working = metrics.TakeSnapshot();
    CHECK(working.activity == "working");
    CHECK(working.gauges.at("waiting_fraction") == 0);
  }
  metrics.SetActivity("finishing");
  CHECK(metrics.TakeSnapshot().activity == "finishing");
}

TEST_CASE("the activity names the present one of several things to wait for", "[unit]") {
  Metrics metrics;
  WaitingGauge::Wait wait;
  const WaitingGauge gauge(&metrics, {"working", "waiting for room"}, [&wait] { return wait; });
  wait = {absl::ZeroDuration(), true, "waiting for steps"};
  CHECK(metrics.TakeSnapshot().activity == "waiting for steps");
  wait.for_what = nullptr;
  CHECK(metrics.TakeSnapshot().activity == "waiting for room");
  wait = {absl::ZeroDuration(), false, "waiting for steps"};
  CHECK(metrics.TakeSnapshot().activity == "working");
}

TEST_CASE("shares of the time are gauges of their own, once they are not zero", "[unit]") {
  Metrics metrics;
  absl::Duration all;
  {
    const WaitingGauge gauge(
        &metrics, {"working", "waiting"},
        [&all] {
          WaitingGauge::Wait wait;
          wait.shares = {{"room_fraction", all}, {"never_fraction", absl::ZeroDuration()}};
          return wait;
        },
        absl::ZeroDuration());
    CHECK(metrics.TakeSnapshot().gauges.count("room_fraction") == 0);
    all = absl::Hours(1);
    const Metrics::Snapshot snapshot = metrics.TakeSnapshot();
    CHECK(snapshot.gauges.at("room_fraction") == 1);
    CHECK(snapshot.gauges.at("waiting_fraction") == 0);
    CHECK(snapshot.gauges.count("never_fraction") == 0);
    CHECK(metrics.TakeSnapshot().gauges.at("room_fraction") == 0);
  }
}

TEST_CASE("the fraction covers a period, or the whole time if that is shorter", "[unit]") {
  Metrics metrics;
  absl::Duration waited;
  {
    const WaitingGauge gauge(
        &metrics, {"working", "waiting"},
        [&waited] {
          return WaitingGauge::Wait{waited, false};
        },
        absl::InfiniteDuration());
    waited = absl::Hours(1);
    CHECK(metrics.TakeSnapshot().gauges.empty());
  }
  CHECK(metrics.TakeSnapshot().gauges.at("waiting_fraction") == 1);
}

}  // namespace
}  // namespace waggle
