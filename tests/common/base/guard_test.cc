#include "common/base/guard.h"

#include <memory>
#include <stdexcept>

#include "tests/support/catch.h"
#include "tests/support/failing_memory.h"

namespace waggle {
namespace {

TEST_CASE("What is thrown becomes a status, and memory that ran out has its reason", "[unit]") {
  REQUIRE_OK(Guarded([] {}));
  const absl::Status no_memory = Guarded([] { throw std::bad_alloc(); });
  REQUIRE_CODE(no_memory, absl::StatusCode::kResourceExhausted);
  CHECK(ReasonOf(no_memory) == reasons::kOutOfMemory);
  REQUIRE_CODE(Guarded([] { throw std::runtime_error("a bug"); }), absl::StatusCode::kInternal);
}

TEST_CASE("Where there is no memory at all, that is said all the same", "[unit]") {
  REQUIRE_OK(Guarded([] {}));  // As a program has called it before that.
  std::unique_ptr<int> taken;
  testing::FailMemory(0, /*for_good=*/true);
  const absl::Status no_memory = Guarded([&taken] { taken = std::make_unique<int>(1); });
  testing::StopFailingMemory();
  REQUIRE_CODE(no_memory, absl::StatusCode::kResourceExhausted);
  CHECK(ReasonOf(no_memory) == reasons::kOutOfMemory);
}

TEST_CASE("A status passes, and gives way to what is thrown", "[unit]") {
  REQUIRE_OK(GuardedStatus([] { return absl::OkStatus(); }));
  CHECK(GuardedStatus([] { return absl::NotFoundError("none"); }) == absl::NotFoundError("none"));
  const absl::Status no_memory = GuardedStatus([]() -> absl::Status { throw std::bad_alloc(); });
  REQUIRE_CODE(no_memory, absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace waggle
