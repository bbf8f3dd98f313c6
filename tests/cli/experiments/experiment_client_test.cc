#include "cli/experiments/experiment_client.h"

#include <string>
#include <vector>

#include "tests/cli/fake_services.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;
using ::waggle::testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

TEST_CASE("A submission whose answer is lost is repeated with the same request id", "[grpc]") {
  FakeServices services;
  services.experiments.after_submit = [&services] {
    return services.experiments.submitted.size() < 3 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone")
                                                     : grpc::Status::OK;
  };
  v1::SubmitRequest request;
  request.set_request_id(NewRequestId());
  CHECK(ValueOf(ExperimentClient(services.address()).Submit(request, kTimeout)).id() == "pole-99abc");
  REQUIRE(services.experiments.submitted.size() == 3);
  for (const v1::SubmitRequest& submitted : services.experiments.submitted) {
    CHECK(submitted.request_id() == request.request_id());
  }
}

TEST_CASE("A submission that waits for the hub says so once, with the address and the patience", "[grpc]") {
  std::vector<std::string> told;
  const auto tell = [&told](const std::string& line) { told.push_back(line); };
  const absl::Status away =
      ExperimentClient("127.0.0.1:1").Submit(v1::SubmitRequest(), absl::Seconds(2), StopToken(), tell).status();
  REQUIRE_CODE(away, absl::StatusCode::kUnavailable);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Catch::Contains("127.0.0.1:1") && Catch::EndsWith(" 2 s"));
  told.clear();
  FakeServices services;
  REQUIRE_OK(ExperimentClient(services.address()).Submit(v1::SubmitRequest(), kTimeout, StopToken(), tell));
  CHECK(told.empty());
}

TEST_CASE("A submission ends at the hub's refusal, at the end of its patience, or at a stop", "[grpc]") {
  FakeServices services;
  services.experiments.after_submit = [] {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "stop.max_seconds: wrong");
  };
  const ExperimentClient client(services.address());
  const absl::Status refused = client.Submit(v1::SubmitRequest(), kTimeout).status();
  CHECK(refused == absl::InvalidArgumentError("stop.max_seconds: wrong"));
  CHECK(services.experiments.submitted.size() == 1);
  const absl::Status away = ExperimentClient("127.0.0.1:1").Submit(v1::SubmitRequest(), absl::ZeroDuration()).status();
  REQUIRE_CODE(away, absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(away.message()), Catch::StartsWith("the parameter server at 127.0.0.1:1 does not answer: "));
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(client.Submit(v1::SubmitRequest(), kTimeout, stop).status(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
