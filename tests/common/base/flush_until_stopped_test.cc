#include "common/base/flush_until_stopped.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a flush is tried until it is done, an error, or nobody waits for it any more", "[unit]") {
  const StopToken stop;
  int calls = 0;
  const auto third = [&calls](absl::Duration) {
    return ++calls < 3 ? absl::DeadlineExceededError("not yet") : absl::OkStatus();
  };
  REQUIRE_OK(FlushUntilStopped(third, stop));
  CHECK(calls == 3);
  REQUIRE_CODE(FlushUntilStopped([](absl::Duration) { return absl::DataLossError("gone"); }, stop),
               absl::StatusCode::kDataLoss);
  const auto stops = [&stop](absl::Duration) {
    stop.RequestStop();
    return absl::DeadlineExceededError("not yet");
  };
  REQUIRE_CODE(FlushUntilStopped(stops, stop), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
