#include "actor/acting/step_budget.h"

#include <atomic>
#include <memory>
#include <vector>

#include "common/base/deadline.h"
#include "common/base/steady_now.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::Eventually;

// A hub that answers as its test says. Thread-safe.
struct Fixture {
  using Answer = std::function<absl::StatusOr<int64_t>(const StepRequest&)>;

  explicit Fixture(Answer first) : answer(std::move(first)) {
    budget = std::make_unique<StepBudget>(
        10, Backoff(absl::Milliseconds(1), absl::Milliseconds(2), Rng(1)),
        [this](const StepRequest& request, const StopToken&) {
          Answer now;
          {
            MutexLock lock(&mutex);
            requests.push_back(request);
            now = answer;
          }
          return now(request);
        },
        stop);
  }

  void Say(Answer next) {
    MutexLock lock(&mutex);
    answer = std::move(next);
  }
  std::vector<StepRequest> Requests() {
    MutexLock lock(&mutex);
    return requests;
  }
  bool Allows(int64_t used) { return budget->Allows(used, SteadyNow()); }

  const StopToken stop;
  Mutex mutex;
  Answer answer ABSL_GUARDED_BY(mutex);
  std::vector<StepRequest> requests ABSL_GUARDED_BY(mutex);
  std::unique_ptr<StepBudget> budget;
};

Fixture::Answer Always(absl::StatusOr<int64_t> answer) {
  return [answer](const StepRequest&) { return answer; };
}

TEST_CASE("an actor may step while it has taken fewer steps than it is allowed", "[unit]") {
  Fixture fixture(Always(100));
  REQUIRE_OK(fixture.budget->Wait());
  REQUIRE(fixture.Requests().at(0).used == 0);
  REQUIRE(fixture.Requests()[0].block == 10);
  REQUIRE(fixture.Requests()[0].rate == 0);
  for (const int64_t used : {0, 49, 50, 99}) {
    REQUIRE(fixture.Allows(used));
  }
  REQUIRE_FALSE(fixture.Allows(100));
  REQUIRE_FALSE(fixture.Allows(107));
}

TEST_CASE("more steps are requested once half of the lease is used, and not before", "[unit]") {
  Fixture fixture(Always(1'000));
  REQUIRE_OK(fixture.budget->Wait());
  for (int64_t used = 0; used < 500; used += 10) {
    REQUIRE(fixture.Allows(used));
  }
  const size_t before = fixture.Requests().size();
  fixture.Say(Always(2'000));
  REQUIRE(fixture.Allows(500));
  Eventually("a request", [&] { return fixture.Requests().size() > before; });
  REQUIRE(fixture.Requests()[before].used >= 490);
  REQUIRE(fixture.Requests()[before].allowed == 1'000);
  REQUIRE(fixture.Requests()[before].rate > 0);
  Eventually("the answer", [&] { return fixture.Allows(1'999); });
}

TEST_CASE("a lease is renewed before it expires, even if none of it is used", "[unit]") {
  Fixture fixture(Always(1'000));
  REQUIRE_OK(fixture.budget->Wait());
  Eventually("a second request", [&] { return fixture.Requests().size() > 1; });
  REQUIRE(fixture.Allows(0));
}

TEST_CASE("an expired lease is not used", "[unit]") {
  Fixture fixture(Always(1'000));
  REQUIRE_OK(fixture.budget->Wait());
  fixture.Say(Always(absl::UnavailableError("away")));
  const absl::Time now = SteadyNow();
  REQUIRE(fixture.budget->Allows(1, now));
  REQUIRE_FALSE(fixture.budget->Allows(1, now + kStepLeaseUse));
}

TEST_CASE("an actor waits, and says so, while other actors have all remaining steps or the hub is away", "[unit]") {
  const absl::StatusOr<int64_t> nothing =
      GENERATE(as<absl::StatusOr<int64_t>>(), 0, absl::UnavailableError("connection refused"));
  Fixture fixture(Always(nothing));
  std::atomic<bool> waited{false};
  absl::Status status;
  {
    const Thread actor("actor", [&] {
      status = fixture.budget->Wait();
      waited = true;
    });
    Eventually("several requests", [&] { return fixture.Requests().size() > 5; });
    Eventually("the wait", [&] { return fixture.budget->stats().waiting; });
    REQUIRE_FALSE(waited);
    fixture.Say(Always(10));
  }
  REQUIRE_OK(status);
  REQUIRE_FALSE(fixture.budget->stats().waiting);
  REQUIRE(fixture.budget->stats().waited > absl::ZeroDuration());
}

TEST_CASE("a stop ends the wait, and a refusal of the hub is final", "[unit]") {
  SECTION("a stop") {
    Fixture fixture(Always(0));
    absl::Status status;
    {
      const Thread actor("actor", [&] { status = fixture.budget->Wait(); });
      fixture.stop.RequestStop();
    }
    REQUIRE_CODE(status, absl::StatusCode::kCancelled);
  }
  SECTION("a refusal") {
    Fixture fixture(Always(absl::FailedPreconditionError("no limit")));
    REQUIRE_CODE(fixture.budget->Wait(), absl::StatusCode::kFailedPrecondition);
    REQUIRE(fixture.Requests().size() == 1);
  }
}

}  // namespace
}  // namespace waggle
