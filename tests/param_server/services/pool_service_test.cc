#include "param_server/services/pool_service.h"

#include <memory>

#include "common/base/build_info.h"
#include "common/base/threads/thread.h"
#include "common/net/status_convert.h"
#include "common/net/unary_call.h"
#include "tests/param_server/hub_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle::testing {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(60);

v1::AttendRequest Learner() {
  v1::AttendRequest request;
  request.set_worker_id("learner-1");
  request.set_kind(v1::WORKER_KIND_LEARNER);
  request.set_software_version(kVersion);
  request.set_capacity(1);
  return request;
}

absl::Status Attend(const HubServer& hub, const v1::AttendRequest& request) {
  const auto stub = v1::PoolService::NewStub(hub.channel);
  return CallUnary(stub.get(), &v1::PoolService::Stub::Attend, request, kTimeout).status();
}

TEST_CASE("a process attends at a hub of its own version with a valid request", "[grpc]") {
  const HubServer hub;
  REQUIRE_OK(Attend(hub, Learner()));
  REQUIRE(hub.host->Members().size() == 1);
  CHECK(hub.host->Members()[0].worker_id() == "learner-1");

  v1::AttendRequest other = Learner();
  other.set_software_version("0.0.1");
  CHECK(absl::IsFailedPrecondition(Attend(hub, other)));
  other = Learner();
  other.set_kind(v1::WORKER_KIND_UNSPECIFIED);
  CHECK(absl::IsInvalidArgument(Attend(hub, other)));
  other = Learner();
  other.set_worker_id("a b");
  CHECK(absl::IsInvalidArgument(Attend(hub, other)));
  other = Learner();
  other.add_held()->mutable_order()->set_experiment_id("../..");
  CHECK(absl::IsInvalidArgument(Attend(hub, other)));
  CHECK(hub.host->Members().size() == 1);
}

TEST_CASE("a process that ends while it attends is found dead", "[grpc]") {
  const HubServer hub;
  const StopToken killed;
  const auto stub = v1::PoolService::NewStub(hub.channel);
  Thread attending("attending", [&] {
    while (!killed.StopRequested()) {
      CallUnary(stub.get(), &v1::PoolService::Stub::Attend, Learner(), kTimeout, killed).IgnoreError();
    }
  });
  Eventually("the process", [&] { return hub.host->Members().size() == 1; });
  killed.RequestStop();
  attending.Join();
  Eventually("the member is gone", [&] { return hub.host->Members().empty(); });
}

TEST_CASE("a process that leaves is gone at once", "[grpc]") {
  const HubServer hub;
  REQUIRE_OK(Attend(hub, Learner()));
  v1::AttendRequest goodbye = Learner();
  goodbye.set_leaving(true);
  REQUIRE_OK(Attend(hub, goodbye));
  CHECK(hub.host->Members().empty());
}

}  // namespace
}  // namespace waggle::testing
