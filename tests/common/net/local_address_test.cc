#include "common/net/local_address.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("the address towards this machine is its own; an unknown host is an error", "[unit]") {
  CHECK(testing::ValueOf(LocalAddressTowards("127.0.0.1:80")) == "127.0.0.1");
  CHECK(testing::ValueOf(LocalAddressTowards("localhost:80")).size() > 2);
  CHECK(LocalAddressTowards("no-such-host.invalid:80").status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a server that listens on every address gives out the one towards its peer", "[unit]") {
  const StopToken stop;
  CHECK(testing::ValueOf(ReachableAddress("0.0.0.0:7", "", "127.0.0.1:80", stop)) == "127.0.0.1:7");
  CHECK(testing::ValueOf(ReachableAddress("[::]:7", "", "127.0.0.1:80", stop)) == "127.0.0.1:7");
  CHECK(testing::ValueOf(ReachableAddress("here:7", "", "127.0.0.1:80", stop)) == "here:7");
  CHECK(testing::ValueOf(ReachableAddress("0.0.0.0:7", "there:8", "127.0.0.1:80", stop)) == "there:8");
  CHECK(ReachableAddress("0.0.0.0:7", "0.0.0.0:8", "127.0.0.1:80", stop).status().code() ==
        absl::StatusCode::kInvalidArgument);
  stop.RequestStop();
  CHECK(ReachableAddress("0.0.0.0:7", "", "no-such-host.invalid:80", stop).status().code() ==
        absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
