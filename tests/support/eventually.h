#pragma once

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Polls a condition. Fails the test after two minutes, far more than any test needs.
template <class Condition>
void Eventually(const std::string& what, const Condition& condition) {
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  const StopToken pause;
  while (!condition()) {
    INFO(what);
    REQUIRE(absl::Now() < deadline);
    pause.WaitFor(absl::Milliseconds(5));
  }
}

}  // namespace waggle::testing
