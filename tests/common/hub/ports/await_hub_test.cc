#include "common/hub/ports/await_hub.h"

#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "tests/common/hub/ports/fake_hub_link.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FakeHubLink;

std::string LogOf(FakeHubLink* hub) {
  testing::CapturedStream log(STDERR_FILENO);
  AwaitHub(hub, "an experiment", hub->run_over(), [](const Assignment& assignment) {
    return !assignment.experiment_yaml.empty();
  }).IgnoreError();
  return log.Finish();
}

TEST_CASE("A wait for the hub and its end are logged", "[unit]") {
  FakeHubLink hub;
  hub.after.experiment_yaml = "x";
  const std::string log = LogOf(&hub);
  CHECK(absl::StrContains(log, "waiting for an experiment\n"));
  CHECK(absl::StrContains(log, "the wait for an experiment is over\n"));
  hub.before = hub.after;
  CHECK(LogOf(&hub).empty());
}

TEST_CASE("Missing replay servers are waited for no longer than the patience", "[unit]") {
  FakeHubLink hub;
  const auto await = [&hub](absl::Duration patience) { return AwaitReplayServers(&hub, 3, hub.run_over(), patience); };
  CHECK_FALSE(await(absl::ZeroDuration()).ok());  // No replay server has joined.
  hub.after.replay_servers = {"", "b:1"};
  CHECK_FALSE(await(absl::InfiniteDuration()).ok());
  CHECK(testing::ValueOf(await(absl::ZeroDuration())) == std::vector<std::string>{"", "b:1", ""});
  hub.after.replay_servers = {"a:1", "b:1", "c:1"};
  CHECK(testing::ValueOf(await(absl::InfiniteDuration())) == hub.after.replay_servers);
}

TEST_CASE("A wait that the end of the run ends is an error", "[unit]") {
  FakeHubLink hub;
  CHECK_FALSE(absl::StrContains(LogOf(&hub), "is over"));
  hub.over.RequestStop();
  CHECK(LogOf(&hub).empty());
}

}  // namespace
}  // namespace waggle
