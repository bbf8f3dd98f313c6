#include "cli/run/cluster_watch.h"

#include <poll.h>

#include "tests/cli/fake_services.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;

std::optional<absl::StatusOr<ClusterSnapshot>> WaitForResult(ClusterWatch* watch) {
  pollfd file = {watch->file_descriptor(), POLLIN, 0};
  REQUIRE(poll(&file, 1, 60'000) == 1);
  return watch->Take();
}

TEST_CASE("A watch announces snapshots, and the next one at once after Hurry", "[grpc]") {
  FakeServices services;
  services.workers.overview.set_env_steps(7);
  ClusterWatch watch(services.address(), "pole-x7k2q", absl::Hours(1), absl::Seconds(30));
  auto first = WaitForResult(&watch);
  REQUIRE(first.has_value());
  REQUIRE_OK(*first);
  CHECK((*first)->overview.env_steps() == 7);
  CHECK_FALSE(watch.Take().has_value());
  watch.Hurry();
  CHECK(WaitForResult(&watch).has_value());
}

TEST_CASE("A watch fetches again after its period, and returns the errors of a hub that is away", "[grpc]") {
  ClusterWatch watch("127.0.0.1:1", "pole-x7k2q", absl::Milliseconds(1), absl::Seconds(30));
  for (int i = 0; i < 3; ++i) {
    const auto result = WaitForResult(&watch);
    REQUIRE(result.has_value());
    REQUIRE_CODE(*result, absl::StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace waggle
