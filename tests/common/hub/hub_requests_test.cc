#include "common/hub/hub_requests.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Every worker's id is unique, and begins with its kind", "[unit]") {
  const std::string first = NewWorkerId("actor");
  CHECK(first.rfind("actor-", 0) == 0);
  CHECK(NewWorkerId("actor") != first);
}

TEST_CASE("A heartbeat carries the figures of its moment", "[unit]") {
  Metrics metrics;
  metrics.Add("env_steps", 3);
  metrics.Set("return_mean", 1.5);
  metrics.Add("process/steps", 3);  // For the process's own exports alone.
  metrics.Set("process/age", 1);
  metrics.SetActivity("acting");
  metrics.SetLastError("a process was lost\xff");
  HubClientOptions options;
  const auto figures = [&options] {
    v1::HeartbeatRequest request;
    FillFigures(options, &request);
    return request;
  };
  CHECK(figures().counters().empty());
  options.metrics = &metrics;
  const v1::HeartbeatRequest first = figures();
  CHECK(first.counters().at("env_steps") == 3);
  CHECK(first.gauges().at("return_mean") == 1.5);
  CHECK(first.gauges().at("resident_bytes") > 1'000'000);
  CHECK(first.counters().size() == 1);
  CHECK(first.gauges().count("process/age") == 0);
  CHECK(first.activity() == "acting");
  CHECK(first.last_error() == "a process was lost?");
  CHECK(figures().taken_at_us() >= first.taken_at_us());
}

}  // namespace
}  // namespace waggle
