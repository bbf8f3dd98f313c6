#include "replay_server/storage/journal_health.h"

#include "common/base/steady_now.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

// Waits until the coarse clock advances.
void AwaitAMoment() {
  const int64_t start = CoarseSteadyNanoseconds();
  testing::Eventually("the clock", [start] { return CoarseSteadyNanoseconds() != start; });
}

TEST_CASE("a failure lasts until a write succeeds, and only the first one is reported", "[unit]") {
  JournalHealth health("/data");
  REQUIRE_OK(health.status());
  CHECK(!health.Succeeded());
  CHECK(health.Failed(absl::ResourceExhaustedError("full")));
  AwaitAMoment();
  const absl::Duration before = health.picture().failing;
  CHECK(before > absl::ZeroDuration());
  CHECK(!health.Failed(absl::ResourceExhaustedError("still full")));
  CHECK(health.picture().failing >= before);
  CHECK(health.picture().failure == absl::ResourceExhaustedError("still full"));
  CHECK(health.picture().folder == "/data");
  REQUIRE_CODE(health.status(), absl::StatusCode::kUnavailable);
  CHECK(health.Succeeded());
  REQUIRE_OK(health.status());
  REQUIRE_OK(health.picture().failure);
  CHECK(health.picture().failing == absl::ZeroDuration());
  CHECK(health.Failed(absl::ResourceExhaustedError("full")));
}

TEST_CASE("the longest wait for a present or next commit is known", "[unit]") {
  JournalHealth health("");
  health.CommitBegins();  // No call waits.
  AwaitAMoment();
  CHECK(health.picture().commit_waits == absl::ZeroDuration());
  health.CommitAwaited();
  AwaitAMoment();
  const absl::Duration first = health.picture().commit_waits;
  CHECK(first > absl::ZeroDuration());
  health.CommitAwaited();
  CHECK(health.picture().commit_waits >= first);  // The first call's.
  health.CommitBegins();
  health.CommitAwaited();  // The next one.
  AwaitAMoment();
  const absl::Duration second = health.picture().commit_waits;
  CHECK(second > first);
  health.CommitEnds();
  CHECK(health.picture().commit_waits < second);
  health.CommitBegins();
  health.CommitEnds();
  CHECK(health.picture().commit_waits == absl::ZeroDuration());
}

TEST_CASE("the last kept checkpoint is known beside a later problem", "[unit]") {
  JournalHealth health("");
  CHECK(!health.picture().checkpoint_ago.has_value());
  health.CheckpointBegins();
  CHECK(health.picture().makes_checkpoint);
  health.CheckpointEnds(absl::OkStatus(), 3);
  CHECK(!health.picture().makes_checkpoint);
  CHECK(health.picture().checkpoint_number == 3);
  health.CheckpointBegins();
  health.CheckpointEnds(absl::ResourceExhaustedError("full"), 0);
  CHECK(health.picture().checkpoint_number == 3);
  CHECK(health.picture().checkpoint_ago.has_value());
  CHECK(health.picture().checkpoint_problem == "full");
}

}  // namespace
}  // namespace waggle
