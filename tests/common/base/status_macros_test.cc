#include "common/base/status_macros.h"

#include <memory>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

absl::Status Forward(const absl::Status& status, bool* went_on) {
  WAGGLE_RETURN_IF_ERROR(status);
  *went_on = true;
  return absl::OkStatus();
}

absl::StatusOr<int> Sum(absl::StatusOr<std::unique_ptr<int>> a, absl::StatusOr<int> b) {
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, std::move(a));
  int second = 0;
  WAGGLE_ASSIGN_OR_RETURN(second, b);
  return *first + second;
}

TEST_CASE("an error is returned at once, and OK goes on", "[unit]") {
  bool went_on = false;
  CHECK(Forward(absl::AbortedError("x"), &went_on) == absl::AbortedError("x"));
  CHECK_FALSE(went_on);
  CHECK(Forward(absl::OkStatus(), &went_on) == absl::OkStatus());
  CHECK(went_on);
}

TEST_CASE("a value is moved out of what holds it, or its error returned", "[unit]") {
  CHECK(ValueOf(Sum(std::make_unique<int>(1), 2)) == 3);
  CHECK(Sum(absl::AbortedError("x"), 2).status() == absl::AbortedError("x"));
  CHECK(Sum(std::make_unique<int>(1), absl::AbortedError("y")).status() == absl::AbortedError("y"));
}

}  // namespace
}  // namespace waggle
