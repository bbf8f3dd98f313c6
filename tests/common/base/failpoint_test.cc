#include "common/base/failpoint.h"

#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A failpoint fails at its given pass, and no other failpoint does", "[unit]") {
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

TEST_CASE("A holding failpoint ends when the list is replaced", "[unit]") {
  REQUIRE_OK(SetFailpoints("h=hold; after=error(the list is the old one)"));
  std::atomic<bool> begun = false;
  absl::Status held;
  absl::Status after;
  std::thread thread([&] {
    begun = true;
    held = PassFailpoint("h");
    after = PassFailpoint("after");
  });
  while (!begun) {
    std::this_thread::yield();
  }
  REQUIRE_OK(SetFailpoints("other=abort"));
  thread.join();
  REQUIRE_OK(SetFailpoints(""));
  REQUIRE_OK(held);
  REQUIRE_OK(after);
}

TEST_CASE("A list of failpoints of another form is refused and changes nothing", "[unit]") {
  REQUIRE_OK(SetFailpoints("kept=error(x)"));
  for (const char* bad : {"a", "=abort", "a=explode", "a=abort@0", "a=abort@x", "a=hold(1)", "a=error(x"}) {
    INFO(bad);
    REQUIRE_CODE(SetFailpoints(bad), absl::StatusCode::kInvalidArgument);
  }
  REQUIRE(!PassFailpoint("kept").ok());
  REQUIRE_OK(SetFailpoints(""));
}

}  // namespace
}  // namespace waggle
