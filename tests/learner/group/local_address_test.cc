#include "learner/group/local_address.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("the address towards this machine's own is that one, and towards a host that is none there is none",
          "[unit]") {
  CHECK(testing::ValueOf(LocalAddressTowards("127.0.0.1:80")) == "127.0.0.1");
  CHECK(testing::ValueOf(LocalAddressTowards("localhost:80")).size() > 2);
  CHECK(LocalAddressTowards("no-such-host.invalid:80").status().code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace waggle
