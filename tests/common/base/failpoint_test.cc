#include "common/base/failpoint.h"

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A failpoint fails at the time that it is told to, and no other one does", "[unit]") {
  REQUIRE_OK(SetFailpoints("a.b=error(no space)@2; c=error(always)"));
  REQUIRE_OK(PassFailpoint("a.b"));
  const absl::Status second = PassFailpoint("a.b");
  REQUIRE(absl::IsUnavailable(second));
  REQUIRE(absl::StrContains(second.message(), "no space"));
  REQUIRE_OK(PassFailpoint("a.b"));
  REQUIRE_OK(PassFailpoint("a"));
  REQUIRE(!PassFailpoint("c").ok());
  REQUIRE(!PassFailpoint("c").ok());
  REQUIRE_OK(SetFailpoints(""));
  REQUIRE_OK(PassFailpoint("c"));
}

TEST_CASE("A failpoint that sleeps comes back", "[unit]") {
  REQUIRE_OK(SetFailpoints("s=sleep(1)"));
  REQUIRE_OK(PassFailpoint("s"));
  REQUIRE_OK(SetFailpoints(""));
}

TEST_CASE("A list of failpoints that is none is refused and changes nothing", "[unit]") {
  REQUIRE_OK(SetFailpoints("kept=error(x)"));
  for (const char* bad : {"a", "=abort", "a=explode", "a=abort@0", "a=abort@x", "a=sleep(x)", "a=error(x"}) {
    INFO(bad);
    REQUIRE_CODE(SetFailpoints(bad), absl::StatusCode::kInvalidArgument);
  }
  REQUIRE(!PassFailpoint("kept").ok());
  REQUIRE_OK(SetFailpoints(""));
}

}  // namespace
}  // namespace waggle
