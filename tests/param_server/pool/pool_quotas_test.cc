#include <string>
#include <vector>

#include "tests/param_server/pool/pool_fixture.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// A pool in which ada may have five actors, and ten actors.
class QuotaFixture : public PoolFixture {
 public:
  QuotaFixture() {
    WorkerPoolOptions options;
    options.quotas.owners["ada"].quota.actors = 5;
    pool_.emplace(options, kFirstNumber, now);
    for (char name = 'a'; name <= 'j'; ++name) {
      Worker(absl::StrCat("actor-", std::string(1, name)), WorkerKind::kActor);
    }
  }
  static RunNeeds Of(const std::string& id, const std::string& owner, int64_t least, int64_t most, int64_t sequence) {
    RunNeeds needs = Needs(id, {Actors(least, most)}, sequence);
    needs.owner = owner;
    return needs;
  }
  // A recalled actor has ended its order.
  void Settle() {
    Round();
    Round();
    Round();
  }
};

TEST_CASE_METHOD(QuotaFixture, "actors beyond the least are given as far as the owner's quota allows", "[unit]") {
  pool.Begin(Of("a", "ada", 2, 9, 1), {}, false);
  Settle();
  CHECK(Count("of a") == 5);
  pool.Begin(Of("b", "bob", 1, 9, 2), {}, false);
  Settle();
  CHECK(Count("of a") == 5);
  CHECK(Count("of b") == 5);
}

TEST_CASE_METHOD(QuotaFixture, "an experiment gives actors up for the least of another of its owner", "[unit]") {
  pool.Begin(Of("a", "ada", 1, 9, 1), {}, false);
  Settle();
  CHECK(Count("of a") == 5);
  pool.Begin(Of("b", "ada", 3, 3, 2), {}, false);
  Settle();
  CHECK(Count("of a") == 2);
  CHECK(Count("of b") == 3);
}

TEST_CASE_METHOD(QuotaFixture, "the least of an experiment that has begun is given beyond a quota", "[unit]") {
  pool.Begin(Of("a", "ada", 7, 9, 1), {}, true);  // The quota was larger when it began.
  now += absl::Minutes(1);
  Settle();
  CHECK(Count("of a") == 7);
}

TEST_CASE_METHOD(PoolFixture, "an experiment that the pool can never run is told which setting asks too much",
                 "[unit]") {
  SeatGroup learners{Role::kLearner, WorkerKind::kLearner, 4, 4};
  learners.setting = "learner.processes";
  learners.device_setting = "learner.device";
  SeatGroup actors = Actors(2, 9);
  actors.setting = "actor.processes";
  RunNeeds needs = Needs("a", {learners, actors});
  CHECK(pool.CountSlots().Impossible(needs).size() == 1);  // The pool is empty.
  Worker("learner-x", WorkerKind::kLearner);
  Worker("actor-x", WorkerKind::kActor);
  Worker("actor-y", WorkerKind::kActor);
  Round();
  const std::vector<std::string> few = pool.CountSlots().Impossible(needs);
  REQUIRE(few.size() == 1);
  CHECK_THAT(few[0], Catch::StartsWith("learner.processes: ") && Catch::Contains("4 learners"));
  needs.groups[0].least = needs.groups[0].most = 1;
  CHECK(pool.CountSlots().Impossible(needs).empty());
  needs.groups[0].device = "cuda";
  const std::vector<std::string> device = pool.CountSlots().Impossible(needs);
  REQUIRE(device.size() == 1);
  CHECK_THAT(device[0], Catch::StartsWith("learner.device: ") && Catch::Contains("cuda"));
  CHECK(absl::IsFailedPrecondition(pool.CountSlots().CanBegin(needs)));
  // Busy workers count: the experiment only waits for them.
  needs.groups[0].device = "cpu";
  pool.Begin(needs, {}, false);
  Round();
  RunNeeds second = needs;
  second.experiment_id = "b";
  CHECK(pool.CountSlots().Impossible(second).empty());
  CHECK(absl::IsUnavailable(pool.CountSlots().CanBegin(second)));
}

}  // namespace
}  // namespace waggle::testing
