#include "common/base/guard.h"

#include <stdexcept>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("An exception becomes a status", "[unit]") {
  REQUIRE_OK(Guarded([] {}));
  REQUIRE_CODE(Guarded([] { throw std::runtime_error("a bug"); }), absl::StatusCode::kInternal);
}

TEST_CASE("A status passes unless an exception is thrown", "[unit]") {
  REQUIRE_OK(GuardedStatus([] { return absl::OkStatus(); }));
  CHECK(GuardedStatus([] { return absl::NotFoundError("none"); }) == absl::NotFoundError("none"));
  REQUIRE_CODE(GuardedStatus([]() -> absl::Status { throw std::runtime_error("a bug"); }), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace waggle
