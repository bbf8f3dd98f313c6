#include "common/base/threads/flush_until_stopped.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a flush is tried until it succeeds, fails or is stopped", "[unit]") {
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

TEST_CASE("a flush keeps its timeout, and is tried once if that is zero", "[unit]") {
  std::vector<absl::Duration> timeouts;
  const auto late = [&timeouts](absl::Duration timeout) {
    timeouts.push_back(timeout);
    return absl::DeadlineExceededError("not yet");
  };
  REQUIRE_CODE(FlushUntilStopped(late, StopToken(), absl::ZeroDuration()), absl::StatusCode::kDeadlineExceeded);
  CHECK(timeouts == std::vector<absl::Duration>{absl::ZeroDuration()});
  REQUIRE_CODE(FlushUntilStopped(late, StopToken(), absl::Milliseconds(20)), absl::StatusCode::kDeadlineExceeded);
  CHECK(timeouts[1] <= absl::Milliseconds(20));
}

}  // namespace
}  // namespace waggle
