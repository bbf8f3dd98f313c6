#include "common/hub/gradients/gradient_address.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("workers spread over the known reducers, and go on to the next after a failure", "[unit]") {
  Assignment assignment;
  assignment.index = 4;
  CHECK(GradientAddress(assignment, 3, 0).empty());
  assignment.reducers = {"a:1", "", "c:3"};
  CHECK(GradientAddress(assignment, 3, 0) == "a:1");
  CHECK(GradientAddress(assignment, 3, 1) == "c:3");
  assignment.index = 5;
  CHECK(GradientAddress(assignment, 3, 0) == "c:3");
}

TEST_CASE("without reducers a worker pushes to the primary", "[unit]") {
  Assignment assignment;
  CHECK(GradientAddress(assignment, 0, 0).empty());
  assignment.learners = {"p:1"};
  assignment.reducers = {"a:1"};
  CHECK(GradientAddress(assignment, 0, 7) == "p:1");
}

}  // namespace
}  // namespace waggle
