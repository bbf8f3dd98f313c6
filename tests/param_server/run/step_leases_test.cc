#include "param_server/run/step_leases.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

StepRequest Request(int64_t used, int64_t allowed, double rate = 0) {
  StepRequest request;
  request.used = used;
  request.allowed = allowed;
  request.block = 100;
  request.rate = rate;
  return request;
}

TEST_CASE("An actor gets two seconds of its rate, at least a block and at most its part of half of the free steps",
          "[unit]") {
  StepLeases leases(10'000, {}, kStart);
  CHECK(leases.Take("a", Request(0, 0), 0, 2, kStart) == 100);                         // A block.
  CHECK(leases.Take("a", Request(100, 100, 600), 100, 2, kStart) == 100 + 1'200);      // Two seconds.
  CHECK(leases.Take("b", Request(0, 0, 1e9), 100, 2, kStart) == (9'900 - 1'200) / 4);  // Half of a half.
  CHECK(leases.Take("a", Request(700, 1'300, 600), 700, 2, kStart) == 700 + 1'200);
}

TEST_CASE("A repeated request changes nothing, so that an answer may be lost", "[unit]") {
  StepLeases leases(1'000, {}, kStart);
  const int64_t allowed = leases.Take("a", Request(0, 0, 200), 0, 1, kStart);
  CHECK(leases.Take("a", Request(0, 0, 200), 0, 1, kStart) == allowed);
  CHECK(leases.Take("a", Request(0, allowed, 0), 0, 1, kStart) == allowed);  // The lease does not shrink either.
  CHECK(leases.Take("b", Request(0, 0, 1e9), 0, 1, kStart) == (1'000 - allowed) / 2);
}

TEST_CASE("The last steps go to the first actor that asks, and to others if its lease ends", "[unit]") {
  StepLeases leases(150, {}, kStart);
  CHECK(leases.Take("a", Request(0, 0), 0, 2, kStart) == 100);
  CHECK(leases.Take("b", Request(0, 0), 0, 2, kStart) == 50);
  CHECK(leases.Take("b", Request(50, 50), 50, 2, kStart) == 50);
  SECTION("because their actor has left") {
    leases.Return("a");
    CHECK(leases.Take("b", Request(50, 50), 50, 1, kStart) == 150);
  }
  SECTION("because their actor is silent") {
    const absl::Time later = kStart + kStepLeaseLife;
    CHECK(leases.Take("b", Request(50, 50), 50, 1, later - absl::Seconds(1)) == 50);
    CHECK(leases.Take("b", Request(50, 50), 50, 1, later) == 150);
    // Its lease has ended; the steps that it took before count.
    CHECK(leases.Take("a", Request(80, 100), 130, 2, later) == 80);
  }
  SECTION("but not the steps that were taken") {
    leases.Report("a", 90);
    leases.Return("a");
    CHECK(leases.Take("b", Request(50, 50), 140, 1, kStart) == 60);
  }
}

TEST_CASE("Steps beyond a lease are taken from the free ones", "[unit]") {
  StepLeases leases(300, {}, kStart);
  CHECK(leases.Take("a", Request(0, 0), 0, 2, kStart) == 100);
  CHECK(leases.Take("b", Request(0, 0), 0, 2, kStart) == 100);
  CHECK(leases.Take("a", Request(115, 100), 115, 2, kStart) == 200);  // 300 - 115 - 100 are free.
  CHECK(leases.Take("b", Request(100, 100), 215, 2, kStart) == 100);
  CHECK(leases.Take("a", Request(215, 200), 315, 2, kStart) == 215);
}

TEST_CASE("After a restart no steps are leased until all actors have reported their leases, or had time to", "[unit]") {
  StepLeases leases(1'000, {"a", "b"}, kStart);
  CHECK(leases.Take("a", Request(300, 400), 500, 2, kStart) == 400);  // It may use its lease.
  CHECK(leases.Take("c", Request(0, 0), 500, 3, kStart) == 0);
  SECTION("All actors have reported") {
    CHECK(leases.Take("b", Request(200, 550), 500, 3, kStart) == 550);
    CHECK(leases.Take("a", Request(300, 400), 500, 3, kStart) == 400);
    CHECK(leases.Take("c", Request(0, 0), 500, 3, kStart) == 50);
  }
  SECTION("An actor has left") {
    leases.Return("b");
    CHECK(leases.Take("c", Request(0, 0), 500, 2, kStart) == 100);
  }
  SECTION("An actor does not come back") {
    CHECK(leases.Take("c", Request(0, 0), 500, 2, kStart + kStepLeaseLife - absl::Seconds(1)) == 0);
    CHECK(leases.Take("c", Request(0, 0), 500, 2, kStart + kStepLeaseLife) == 100);
  }
  SECTION("An actor reports a lease that is too large") {
    CHECK(leases.Take("b", Request(200, int64_t{1} << 53), 500, 3, kStart) == 200 + 400);
    CHECK(leases.Take("c", Request(0, 0), 500, 3, kStart) == 0);
  }
}

// Actors step if their lease allows it, `lanes` steps at a time. Their calls are answered, repeated or lost at
// random.
TEST_CASE("The limit is reached, and passed by fewer steps than there are lanes, though calls are lost", "[unit]") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    INFO(seed);
    Rng rng(seed);
    constexpr int64_t kLimit = 5'000;
    constexpr int64_t kLanes = 16;
    struct Actor {
      int64_t used = 0;
      int64_t allowed = 0;
      double rate = 0;
    };
    std::vector<Actor> actors(1 + rng.UniformInt(5));
    const auto taken = [&actors] {
      int64_t sum = 0;
      for (const Actor& actor : actors) {
        sum += actor.used;
      }
      return sum;
    };
    StepLeases leases(kLimit, {}, kStart);
    int64_t reported = 0;  // All steps that the hub knows.
    std::vector<int64_t> reported_of(actors.size());
    absl::Time now = kStart;
    for (int64_t round = 0; reported < kLimit; ++round) {
      REQUIRE(round < 1'000'000);
      now += absl::Milliseconds(10);
      const size_t i = rng.UniformInt(actors.size());
      Actor& actor = actors[i];
      if (rng.Uniform() < 0.7 && actor.used < actor.allowed) {
        actor.used += 1 + static_cast<int64_t>(rng.UniformInt(kLanes));
        continue;
      }
      reported += actor.used - reported_of[i];
      reported_of[i] = actor.used;
      const int64_t allowed =
          leases.Take(absl::StrCat("actor-", i), Request(actor.used, actor.allowed, 1e4 * rng.Uniform()), reported,
                      static_cast<int64_t>(actors.size()), now);
      if (rng.Uniform() < 0.8) {  // Otherwise the answer is lost.
        actor.allowed = allowed;
      }
    }
    CHECK(taken() < kLimit + kLanes * static_cast<int64_t>(actors.size()));
  }
}

}  // namespace
}  // namespace waggle
