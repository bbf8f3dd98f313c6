#include "common/base/backoff.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Jittered pauses double up to the maximum, and start anew after a success", "[unit]") {
  Backoff backoff(absl::Milliseconds(100), absl::Seconds(2), Rng(1));
  for (int round = 0; round < 2; ++round) {
    for (const int expected : {100, 200, 400, 800, 1600, 2000, 2000, 2000}) {
      const absl::Duration pause = backoff.Next();
      CHECK(pause >= absl::Milliseconds(expected) / 2);
      CHECK(pause <= absl::Milliseconds(expected));
    }
    backoff.Reset();
  }
}

TEST_CASE("Two clients with different seeds do not pause alike", "[unit]") {
  Backoff a(absl::Milliseconds(100), absl::Seconds(2), Rng(1));
  Backoff b(absl::Milliseconds(100), absl::Seconds(2), Rng(2));
  CHECK(a.Next() != b.Next());
}

}  // namespace
}  // namespace waggle
