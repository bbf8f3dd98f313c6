#include "common/base/host_port.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("An address is a host and a port", "[unit]") {
  for (const char* const good : {"127.0.0.1:7000", "localhost:1", "replay-0.replay_svc:65535", "[::1]:80"}) {
    INFO(good);
    CHECK(ValidateHostPort(good) == absl::OkStatus());
  }
  for (const char* const bad : {"", ":", "127.0.0.1", "127.0.0.1:", ":7000", "h:65536", "h:-1", "h:7000x", "a b:1",
                                "::1:80", "[]:1", "http://h:1", "h:0", "h\n:1", "h:1\n", "h: 1", "h:+1"}) {
    INFO(bad);
    const absl::Status status = ValidateHostPort(bad);
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains("wanted HOST:PORT"));
  }
  CHECK(ValidateHostPort("0.0.0.0:0", /*allow_port_zero=*/true) == absl::OkStatus());
}

TEST_CASE("An address for others must not stand for every address of a machine", "[unit]") {
  for (const char* const good :
       {"127.0.0.1:7000", "localhost:1", "10.0.0.0:1", "0x:1", "[::1]:80", "[fe80::0%eth0]:1"}) {
    INFO(good);
    CHECK(ValidateReachable(good) == absl::OkStatus());
  }
  for (const char* const bad : {"0.0.0.0:7001", "0:1", "[::]:7001", "[0:0::0]:1", "[::0.0.0.0]:1"}) {
    INFO(bad);
    const absl::Status status = ValidateReachable(bad);
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains("every address of a machine"));
  }
  CHECK_THAT(std::string(ValidateReachable("h:0").message()), Catch::Contains("wanted HOST:PORT"));
}

}  // namespace
}  // namespace waggle
