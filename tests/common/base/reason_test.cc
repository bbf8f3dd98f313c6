#include "common/base/reason.h"

#include <memory>

#include "common/base/annotate.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A status keeps its first reason", "[unit]") {
  const absl::Status plain = absl::InvalidArgumentError("priority -1");
  CHECK(ReasonOf(plain).empty());
  const absl::Status status = WithReason("bad_priority", plain);
  CHECK(ReasonOf(status) == "bad_priority");
  CHECK(status.code() == plain.code());
  CHECK(status.message() == plain.message());
  CHECK(ReasonOf(WithReason("bad_block", status)) == "bad_priority");
  CHECK(ReasonOf(Annotate(status, "item 3")) == "bad_priority");
}

TEST_CASE("A value passes as it is, an error with its reason", "[unit]") {
  const absl::StatusOr<std::unique_ptr<int>> value =
      WithReason("no_number", absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(3)));
  REQUIRE_OK(value);
  CHECK(**value == 3);
  const absl::StatusOr<int> error = WithReason("no_number", absl::StatusOr<int>(absl::NotFoundError("none")));
  REQUIRE_CODE(error, absl::StatusCode::kNotFound);
  CHECK(ReasonOf(error.status()) == "no_number");
}

}  // namespace
}  // namespace waggle
