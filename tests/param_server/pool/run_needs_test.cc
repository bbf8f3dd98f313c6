#include "param_server/pool/run_needs.h"

#include <map>
#include <string>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

std::map<Role, SeatGroup> Groups(const Experiment& experiment) {
  std::map<Role, SeatGroup> groups;
  for (const SeatGroup& group : NeedsOf(experiment).groups) {
    CHECK(groups.emplace(group.role, group).second);
  }
  return groups;
}

TEST_CASE("an experiment needs its replay servers, learners, actors and an evaluator", "[unit]") {
  Experiment experiment;
  experiment.replay.servers = 3;
  experiment.learner.processes = 2;
  experiment.learner.device = "cuda";
  experiment.actor.least_processes = 4;
  experiment.actor.processes = 9;
  std::map<Role, SeatGroup> groups = Groups(experiment);
  REQUIRE(groups.size() == 4);
  CHECK(groups.at(Role::kReplayServer).least == 3);
  CHECK(groups.at(Role::kReplayServer).distinct);
  CHECK_FALSE(groups.at(Role::kReplayServer).keeps);
  CHECK(groups.at(Role::kLearner).most == 2);
  CHECK(groups.at(Role::kLearner).device == "cuda");
  CHECK_FALSE(groups.at(Role::kLearner).serves);
  CHECK(groups.at(Role::kActor).least == 4);
  CHECK(groups.at(Role::kActor).most == 9);
  CHECK(groups.at(Role::kActor).steps_environment);
  CHECK(groups.at(Role::kEvaluator).least == 0);
  CHECK(NeedsOf(experiment).environment == experiment.environment.name);

  SECTION("a replay server whose tables outlive it keeps its seat") {
    experiment.replay.table.durability = Durability::kCheckpoint;
    CHECK(Groups(experiment).at(Role::kReplayServer).keeps);
  }
  SECTION("a learner that computes actions serves") {
    experiment.actor.inference = "server";
    CHECK(Groups(experiment).at(Role::kLearner).serves);
  }
  SECTION("without evaluations there is no evaluator") {
    experiment.evaluation.enabled = false;
    CHECK(Groups(experiment).count(Role::kEvaluator) == 0);
  }
  SECTION("a run in lock-step needs an evaluator") {
    experiment.experiment.deterministic = true;
    CHECK(Groups(experiment).at(Role::kEvaluator).least == 1);
  }
  SECTION("an experiment with a target return needs an evaluator") {
    experiment.stop.target_return = 475;
    CHECK(Groups(experiment).at(Role::kEvaluator).least == 1);
  }
  SECTION("learners that push gradients keep their places") {
    experiment.learner.gradients = "push";
    groups = Groups(experiment);
    CHECK(groups.count(Role::kReplayServer) == 1);
    CHECK(groups.at(Role::kLearner).kind == WorkerKind::kLearner);
    CHECK(groups.at(Role::kLearner).least == 2);
  }
  SECTION("gradient workers replace learner and replay server if actors push gradients") {
    experiment.learner.gradients = "push";
    experiment.learner.processes = 1;
    experiment.learner.gradient_server.reducers = 2;
    groups = Groups(experiment);
    CHECK(groups.count(Role::kReplayServer) == 0);
    CHECK(groups.at(Role::kLearner).kind == WorkerKind::kGradient);
    CHECK(groups.at(Role::kLearner).least == 1);
    CHECK(groups.at(Role::kReducer).least == 2);
    CHECK(groups.at(Role::kReducer).kind == WorkerKind::kGradient);
  }
}

}  // namespace
}  // namespace waggle::testing
