#include "common/base/annotate.h"

#include "absl/strings/cord.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an annotated error keeps its code and payload, and begins with the context", "[unit]") {
  absl::Status status = absl::NotFoundError("no such table");
  status.SetPayload("waggle/reason", absl::Cord("x"));
  const absl::Status annotated = Annotate(status, "sampling");
  CHECK(annotated.code() == absl::StatusCode::kNotFound);
  CHECK(annotated.message() == "sampling: no such table");
  CHECK(annotated.GetPayload("waggle/reason") == absl::Cord("x"));
}

TEST_CASE("an OK status stays OK", "[unit]") {
  CHECK(Annotate(absl::OkStatus(), "sampling") == absl::OkStatus());
}

}  // namespace
}  // namespace waggle
