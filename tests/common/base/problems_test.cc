#include "common/base/problems.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("all problems are reported, in their order", "[unit]") {
  Problems problems;
  problems.AddUnless(true, "nothing");
  problems.AddIfBad("nothing: ", absl::OkStatus());
  REQUIRE_OK(problems.ToStatus());
  problems.Add("a: ", 1);
  problems.AddUnless(false, "b: ", 2);
  problems.AddIfBad("c.", absl::NotFoundError("d: 3"));
  CHECK(problems.ToStatus() == absl::InvalidArgumentError("a: 1\nb: 2\nc.d: 3"));
  CHECK(problems.ToStatus("x: ", "; ") == absl::InvalidArgumentError("x: a: 1; b: 2; c.d: 3"));
}

}  // namespace
}  // namespace waggle
