#pragma once

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Waits until it holds; fails the test if it never does.
template <class Condition>
void AwaitThat(const std::string& what, const Condition& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!condition()) {
    INFO(what);
    REQUIRE(absl::Now() < deadline);
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace waggle::testing
