// Populations of a hub, whose workers are faked.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/live_fields.h"
#include "param_server/experiments/experiment_host.h"
#include "tests/param_server/experiments/host_fixture.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr char kKey[] = "algorithm.optimizer.learning_rate";

// A population of two that compares its members each 100 environment steps.
std::string PopulationYaml(const std::string& name, int size = 2) {
  return absl::StrCat("experiment: {name: ", name, ", seed: 5, population: {size: ", size, ", every: 100, mutate: {",
                      kKey, ": {factor: 2}}}}\nenvironment: {name: CartPole-v1}\n",
                      "algorithm: {name: apex_dqn}\nstop: {max_learner_steps: 1000}\n");
}

class PopulationFixture : public HostFixture {
 public:
  std::vector<std::string> SubmitPopulation(int size = 2, const std::string& request = "") {
    const std::string yaml = PopulationYaml("pole", size);
    return ValueOf(host->Submit({yaml, yaml, 0, request}));
  }
  // Enough processes for two members at once.
  void TwoCrews() {
    Worker("replay", WorkerKind::kReplayServer);
    Worker("evaluator", WorkerKind::kEvaluator);
    for (const char* const number : {"0", "1"}) {
      Worker(absl::StrCat("learner", number), WorkerKind::kLearner);
      Worker(absl::StrCat("actor", number), WorkerKind::kActor);
    }
  }
  void AwaitRunning(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      RoundsUntil(id + " to run", [&] { return Find(id) != nullptr; });
    }
  }
  void Publish(const std::string& id, uint64_t version) { HostFixture::Publish(id, "pole", version); }
  // An actor takes these steps.
  void Act(const std::string& id, double steps) {
    WorkerFigures figures;
    figures.counters["env_steps"] = steps;
    Work(id, absl::StrCat("actor-", ++names_), Role::kActor, figures);
  }
  // The order to the member's learner.
  Exploit OrderOf(const std::string& id) {
    const std::shared_ptr<RunServices> run = Find(id);
    const std::string worker_id = absl::StrCat("learner-", ++names_);
    run->hub->Order({worker_id, Role::kLearner, 77, "h", ""}, ++last_index);
    const Hub::Seat seat = ValueOf(run->hub->Join({worker_id, absl::StrCat("10.0.0.1:", 10'000 + last_index), 0, {}}));
    run->hub->Leave(worker_id);
    return seat.assignment.exploit;
  }
  double RateOf(const std::string& id) {
    const std::string yaml = ValueOf(host->Texts(id)).effective_yaml;
    const Experiment experiment = ValueOf(ParseStoredExperiment(yaml, id, {}, algorithms));
    LiveFields fields;
    VisitExperiment(experiment, fields);
    return fields.numbers().at(kKey).value;
  }
  bool Told(const std::string& id, const std::string& text) { return absl::StrContains(Log(id), text); }

 private:
  int names_ = 0;
};

TEST_CASE_METHOD(PopulationFixture, "a population is in the queue as its members, which name it", "[unit]") {
  Start();
  const std::vector<std::string> ids = SubmitPopulation(3, "request");
  REQUIRE(ids.size() == 3);
  const std::string name = ValueOf(host->Get(ids[0])).population();
  for (size_t i = 0; i < ids.size(); ++i) {
    const v1::ExperimentInfo info = ValueOf(host->Get(ids[i]));
    CHECK(ids[i] == absl::StrCat(name, "-", i));
    CHECK(info.population() == name);
    CHECK(info.seed() == 5 + static_cast<int64_t>(i));
    CHECK(info.state() == v1::RUN_STATE_QUEUED);
    CHECK(ValueOf(host->Texts(ids[i])).submitted_yaml == PopulationYaml("pole", 3));
  }
  CHECK(SubmitPopulation(3, "request") == ids);  // Its answer was lost.
  CHECK(host->List({}).experiments_size() == 3);
  CHECK(SubmitPopulation(3) != ids);
  CHECK(ValueOf(host->Get(Submit("x"))).population().empty());

  host.reset();
  Start();
  CHECK(SubmitPopulation(3, "request") == ids);
  CHECK(ValueOf(host->Get(ids[2])).population() == name);
  REQUIRE_OK(host->Stop(ids[0]));
  REQUIRE_OK(host->Delete(ids[0]));
  CHECK(State(ids[1]) == RunState::kQueued);
}

TEST_CASE_METHOD(PopulationFixture, "a hub without a folder for each experiment takes no population", "[unit]") {
  options.output_pattern = folder.File("out");
  Start();
  const absl::Status refused = host->Submit({"", PopulationYaml("pole"), 0, ""}).status();
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  CHECK(host->List({}).experiments().empty());
}

TEST_CASE_METHOD(PopulationFixture, "the worse member takes the weights and numbers of the better one", "[unit]") {
  Start();
  TwoCrews();
  const std::vector<std::string> ids = SubmitPopulation();
  const std::string& winner = ids[0];
  const std::string& loser = ids[1];
  AwaitRunning(ids);
  for (const std::string& id : ids) {
    Publish(id, 1);
    CHECK(OrderOf(id) == Exploit());
  }
  Publish(winner, 340);
  REQUIRE_OK(host->Set(winner, {{kKey, "0.25"}}, false));
  Evaluate(winner, 200);
  Evaluate(loser, 20);
  Act(winner, 1'000);
  Act(loser, 99);
  Round();
  CHECK_FALSE(Told(loser, "takes the weights"));  // It is not due.
  Act(loser, 1);
  RoundsUntil("the exchange", [&] { return OrderOf(loser).serial == 1; });
  CHECK(OrderOf(loser) == Exploit{winner, 1});
  CHECK(OrderOf(winner) == Exploit());
  CHECK((RateOf(loser) == 0.125 || RateOf(loser) == 0.5));
  CHECK(RateOf(winner) == 0.25);
  CHECK(Told(loser, absl::StrCat("takes the weights of ", winner, " at epoch 1, version 340, and sets ", kKey)));

  SECTION("once for each multiple of its environment steps") {
    Round();
    CHECK(OrderOf(loser).serial == 1);
    Act(loser, 120);
    Round();
    CHECK(OrderOf(loser).serial == 1);  // The weights that it took are not evaluated yet.
    Evaluate(loser, 30);
    RoundsUntil("the next exchange", [&] { return OrderOf(loser).serial == 2; });
  }
  SECTION("not if it is the better one then") {
    Act(loser, 120);
    Evaluate(loser, 300);
    Act(winner, 120);
    RoundsUntil("an exchange", [&] { return OrderOf(winner).serial == 1; });
    CHECK(OrderOf(winner) == Exploit{loser, 1});
    CHECK(OrderOf(loser).serial == 1);
  }
  SECTION("also for later hubs") {
    const double rate = RateOf(loser);
    host.reset();
    Start();
    AwaitRunning(ids);
    CHECK(OrderOf(loser) == Exploit{winner, 1});
    CHECK(RateOf(loser) == rate);
    // The next multiple is the first at which this hub compares.
    Act(loser, 120);
    Evaluate(loser, 40);
    RoundsUntil("the next exchange", [&] { return OrderOf(loser).serial == 2; });
  }
  SECTION("not from a member that has ended") {
    REQUIRE_OK(host->Stop(winner));
    Act(loser, 120);
    Evaluate(loser, 1);
    Round();
    Round();
    CHECK(OrderOf(loser).serial == 1);
  }
}

TEST_CASE_METHOD(PopulationFixture, "a member that is due waits for its evaluation and for that of another", "[unit]") {
  Start();
  TwoCrews();
  const std::vector<std::string> ids = SubmitPopulation();
  AwaitRunning(ids);
  for (const std::string& id : ids) {
    Publish(id, 1);
  }
  Round();
  Act(ids[1], 500);
  Round();
  Evaluate(ids[1], 20);
  Round();
  CHECK(OrderOf(ids[1]) == Exploit());
  Evaluate(ids[0], 200);
  RoundsUntil("the exchange", [&] { return OrderOf(ids[1]).serial == 1; });
}

TEST_CASE_METHOD(PopulationFixture, "a winner without weights is told, and nothing changes", "[unit]") {
  Start();
  TwoCrews();
  const std::vector<std::string> ids = SubmitPopulation();
  AwaitRunning(ids);
  const double rate = RateOf(ids[1]);
  Evaluate(ids[0], 200);
  Evaluate(ids[1], 20);
  Round();
  Act(ids[1], 500);
  RoundsUntil("the event", [&] { return Told(ids[1], "does not take those of " + ids[0]); });
  CHECK(OrderOf(ids[1]) == Exploit());
  CHECK(RateOf(ids[1]) == rate);
}

}  // namespace
}  // namespace waggle::testing
