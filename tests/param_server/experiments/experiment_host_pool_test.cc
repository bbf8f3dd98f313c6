#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

TEST_CASE_METHOD(HostFixture, "a lost worker is dismissed, and another goes on with its work", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("learner").held_size() == 1; });
  WorkerArrival learner;
  learner.worker_id = RunWorkerId("learner", workers.at("learner").held(0).order().number());
  const uint64_t epoch = ValueOf(Find(id)->hub->Join(learner)).epoch;

  // Its process is killed: its call ends.
  const uint64_t call = host->Attend(workers.at("learner"), [](const absl::StatusOr<v1::AttendResponse>&) {});
  host->BreakOff(call);
  workers.erase("learner");
  Worker("learner-b", WorkerKind::kLearner);
  RoundsUntil("the other learner", [&] { return workers.at("learner-b").held_size() == 1; });
  WorkerArrival second;
  second.worker_id = RunWorkerId("learner-b", workers.at("learner-b").held(0).order().number());
  CHECK(ValueOf(Find(id)->hub->Join(second)).epoch > epoch);
  WorkerReport zombie;
  zombie.worker_id = learner.worker_id;
  CHECK(absl::IsAlreadyExists(Find(id)->hub->Heartbeat(zombie).status()));
  CHECK(absl::IsAlreadyExists(Find(id)->hub->Join(learner).status()));
}

TEST_CASE_METHOD(HostFixture, "the last steps of a recalled actor count", "[unit]") {
  options.pool.rejoin_time = absl::ZeroDuration();
  Start();
  WholeCrew();
  Worker("actor-b", WorkerKind::kActor);
  Worker("learner-b", WorkerKind::kLearner);
  const std::string first = Submit("first", "actor: {processes: {min: 1, max: 2}}\n");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1 && workers.at("actor-b").held_size() == 1; });
  std::map<std::string, WorkerReport> reports;
  for (const std::string worker_id : {"actor", "actor-b"}) {
    WorkerArrival actor;
    actor.worker_id = RunWorkerId(worker_id, workers.at(worker_id).held(0).order().number());
    REQUIRE_OK(Find(first)->hub->Join(actor));
    reports[worker_id].worker_id = actor.worker_id;
  }
  const std::map<std::string, v1::AttendRequest> before = workers;
  const std::string second = Submit("second");
  std::string recalled;
  RoundsUntil("an actor is given up", [&] {
    for (const auto& [worker_id, report] : reports) {
      const auto& told = workers.at(worker_id).held();
      recalled = told.empty() || told[0].order().experiment_id() != first ? worker_id : recalled;
      *workers.at(worker_id).mutable_held() = before.at(worker_id).held();  // Both still work.
    }
    return !recalled.empty();
  });
  reports.at(recalled).figures.counters["env_steps"] = 17;
  REQUIRE_OK(Find(first)->hub->Heartbeat(reports.at(recalled)));
  CHECK(ValueOf(host->Get(first)).env_steps() == 17);
  workers.at(recalled).mutable_held(0)->set_ended(true);
  RoundsUntil("it is at the other one", [&] {
    return !workers.at(recalled).held().empty() && workers.at(recalled).held(0).order().experiment_id() == second;
  });
  CHECK_FALSE(Find(first)->hub->Heartbeat(reports.at(recalled)).ok());
  CHECK(ValueOf(host->Get(first)).env_steps() == 17);
}

TEST_CASE_METHOD(HostFixture, "an experiment whose workers all give up fails with the reason", "[unit]") {
  options.pool.longest_retry = absl::Milliseconds(1);
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("the failure", [&] {
    for (v1::HeldOrder& held : *workers.at("actor").mutable_held()) {
      held.set_ended(true);
      held.set_failure("no such device");
    }
    return IsOver(State(id));
  });
  CHECK(State(id) == RunState::kFailed);
  CHECK_THAT(ValueOf(host->Get(id)).reason(), Catch::Contains("no such device"));
}

}  // namespace
}  // namespace waggle::testing
