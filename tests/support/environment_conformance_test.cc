#include "tests/support/environment_conformance.h"

#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle::testing {
namespace {

TEST_CASE("an environment of many leaves passes the conformance suite", "[unit]") {
  CheckEnvironment("ManyLeaves", ManyLeaves::Definition(), EnvironmentOptions());
}

}  // namespace
}  // namespace waggle::testing
