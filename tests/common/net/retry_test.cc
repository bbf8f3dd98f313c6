#include "common/net/retry.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Errors of a server that is away may pass, those of a request do not", "[unit]") {
  CHECK(MayPass(absl::UnavailableError("away")));
  CHECK(MayPass(absl::CancelledError("stopping")));
  CHECK(MayPass(absl::DeadlineExceededError("slow")));
  CHECK(!MayPass(absl::OkStatus()));
  CHECK(!MayPass(absl::InvalidArgumentError("wrong")));
  CHECK(!MayPass(absl::FailedPreconditionError("differs")));
  CHECK(!MayPass(absl::NotFoundError("none")));
  CHECK(!MayPass(absl::InternalError("a bug")));
  CHECK(!MayPass(absl::UnknownError("anything")));
  CHECK(!MayPass(absl::ResourceExhaustedError("too large")));
  CHECK(!MayPass(absl::UnimplementedError("another service")));
}

TEST_CASE("Pauses between attempts last 0.05 to 2 s", "[unit]") {
  Backoff backoff = NewReconnectBackoff();
  for (int i = 0; i < 20; ++i) {
    const absl::Duration pause = backoff.Next();
    CHECK(pause >= absl::Milliseconds(50));
    CHECK(pause <= absl::Seconds(2));
  }
}

}  // namespace
}  // namespace waggle
