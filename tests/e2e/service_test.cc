// A service whose processes are killed while experiments run.

#include "tests/e2e/service.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "param_server/run/hub_state.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

std::string Config(const std::string& name) {
  return std::string(WAGGLE_TEST_CONFIG_DIR) + "/" + name + ".yaml";
}

TEST_CASE("three experiments at once reach their goals on one set of processes", "[e2e]") {
  Service service;
  service.StartHub();
  for (const std::string number : {"0", "1"}) {
    service.StartReplay("replay-" + number);
    service.StartLearner("learner-" + number);
  }
  for (const std::string number : {"0", "1", "2"}) {
    service.StartGradientWorker("gradient-" + number);
    service.StartActor("actor-" + number);
  }
  service.StartEvaluator("evaluator");
  Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  std::vector<std::string> ids;
  for (const char* const name : {"cartpole_apex_dqn", "cartpole_impala", "cartpole_a3c"}) {
    ids.push_back(service.SubmitFile(Config(name), {"--set", "stop.max_seconds=280"}));
  }
  // An experiment continues after its watcher has ended.
  const TemporaryFolder folder;
  RunningProcess watcher(folder, "watcher", {"waggle", "watch", ids[0], "--param-server", service.hub()});
  Eventually("figures of a watch", [&] { return absl::StrContains(watcher.Log(), "env steps"); });
  watcher.Signal(SIGINT);
  CHECK(watcher.Wait().code == 130);
  for (const std::string& id : ids) {
    Eventually(id + " to be over", [&] {
      const std::string outcome = service.Outcome(id);
      return outcome != "queued" && outcome != "running" && outcome != "finishing" && !outcome.empty();
    });
    CHECK(service.Outcome(id) == "solved");
    CHECK(service.Waggle({"watch", id}).first == 0);
    const auto [told, events] = service.Waggle({"logs", id, "--json"});
    CHECK(told == 0);
    CHECK(nlohmann::json::parse(events.substr(0, events.find('\n'))).at("number") == 1);
    CHECK(service.Waggle({"delete", id}).first == 0);
  }
  const auto [status, list] = service.Waggle({"list", "--json"});
  CHECK(status == 0);
  CHECK(nlohmann::json::parse(list).at("experiments").empty());
  for (const char* const verb : {"status", "watch", "logs", "stop", "resume", "delete"}) {
    CHECK(service.Waggle({verb, ids[0]}).first == 2);
  }
  service.EndAll();
}

// Checks that steps never go back, except behind a killed hub, which saves them every five seconds.
class StepWatch {
 public:
  StepWatch(const Service* service, std::string id) : service_(service), id_(std::move(id)) {}

  // Waits until both kinds of steps have grown by `steps` over the present status.
  void AwaitProgress(const std::string& after, double steps) {
    Eventually("a status after " + after, [&] { return Look(after); });
    const double env_steps = env_steps_ + steps;
    const double learner_steps = learner_steps_ + steps;
    Eventually("progress after " + after, [&] {
      Look(after);
      return env_steps_ >= env_steps && learner_steps_ >= learner_steps;
    });
  }
  // True if there was a status.
  bool Look(const std::string& after) {
    const nlohmann::json status = service_->Status(id_);
    if (status.is_null()) {
      return false;
    }
    INFO("after " << after << ": " << status.at("reason"));
    const std::string outcome = status.at("outcome");
    REQUIRE(outcome == "running");
    REQUIRE(status.at("env_steps").get<double>() >= env_steps_);
    REQUIRE(status.at("learner_steps").get<double>() >= learner_steps_);
    env_steps_ = status.at("env_steps");
    learner_steps_ = status.at("learner_steps");
    return true;
  }
  // Called before a hub is killed: from now on steps may go back to the saved ones. Waits until some are saved.
  void AllowForgetting() {
    Look("a while");
    const double env_steps = env_steps_;
    const double learner_steps = learner_steps_;
    REQUIRE(learner_steps > 0);
    Eventually("steps that the hub has written down", [&] {
      const std::string file = service_->File(absl::StrCat("hub/experiments/", id_, "/hub/hub.state"));
      const RunProgress written = ValueOf(DecodeHubRecord(ValueOf(ReadSmallFile(file, 1 << 20)))).progress;
      env_steps_ = written.env_steps;
      learner_steps_ = written.learner_steps;
      return env_steps_ >= env_steps && learner_steps_ >= learner_steps;
    });
  }

 private:
  const Service* const service_;
  const std::string id_;
  double env_steps_ = 0;
  double learner_steps_ = 0;
};

// Starts a hub with two of each kind of process, and one evaluator.
void StartAll(Service* service) {
  service->StartHub();
  for (const std::string number : {"0", "1"}) {
    service->StartReplay("replay-" + number);
    service->StartLearner("learner-" + number);
    service->StartActor("actor-" + number);
  }
  service->StartEvaluator("evaluator");
}

// The same with an experiment that never ends by itself. Returns its id once it runs.
std::string StartEndless(Service* service) {
  StartAll(service);
  Eventually("the hub", [&] { return service->Waggle({"list"}).first == 0; });
  const std::string id = service->SubmitFile(
      Config("cartpole_apex_dqn"),
      {"--set", "replay.servers=2", "--set", "replay.durability=log", "--set", "stop.target_return=null", "--set",
       "stop.max_env_steps=1000000000", "--set", "stop.max_seconds=0", "--set", "learner.checkpoint.period_seconds=1"});
  service->AwaitOutcome(id, "running");
  return id;
}

// Returns the name of the learner that replaced a killed one.
std::string AwaitSuccessor(const Service& service, const std::string& id, const std::string& learner,
                           StepWatch* watch) {
  std::string successor;
  Eventually("another learner", [&] {
    watch->Look("the learner's end");
    successor = service.WorkerOf(id, "learner");
    return !successor.empty() && successor != learner;
  });
  return successor;
}

TEST_CASE("a learner begins without a shard that died before the hub restarted", "[e2e]") {
  Service service;
  const std::string id = StartEndless(&service);
  StepWatch watch(&service, id);
  watch.AwaitProgress("the start", 500);
  service.Kill("replay-1");
  watch.AwaitProgress("a shard's end", 500);
  watch.AllowForgetting();
  service.Kill("hub");
  service.StartHub();
  watch.AwaitProgress("the hub's end", 500);
  std::string learner;
  Eventually("the learner", [&] { return !(learner = service.WorkerOf(id, "learner")).empty(); });
  service.Kill(learner);
  AwaitSuccessor(service, id, learner, &watch);
  watch.AwaitProgress("the learner's end", 500);
  service.StartLearner(learner);
  Eventually("a learner that stands by", [&] { return service.InPool("learner") == 2; });
  service.StartReplay("replay-1");
  Eventually("the shard's return", [&] {
    const auto [asked, why] = service.Waggle({"why", "--json"});
    return (asked == 0 || asked == 3) && nlohmann::json::parse(why).at("tables").size() == 2;
  });
  CHECK(service.Waggle({"stop", id}).first == 0);
  service.AwaitOutcome(id, "stopped");
  service.EndAll();
}

// The gauge of the experiment's worker of this role; NaN while there is none.
double Gauge(const Service& service, const std::string& id, const std::string& role, const std::string& name) {
  const nlohmann::json status = service.Status(id);
  if (!status.is_null() && status.contains("processes")) {
    for (const nlohmann::json& worker : status.at("processes")) {
      if (worker.at("role") == role && worker.at("alive").get<bool>() && worker.at("gauges").contains(name)) {
        return worker.at("gauges").at(name);
      }
    }
  }
  return std::nan("");
}

TEST_CASE("a learning rate that is set holds at once, and after kills of the hub and the learner", "[e2e]") {
  Service service;
  service.StartHub();
  service.StartReplay("replay");
  service.StartLearner("learner");
  service.StartActor("actor");
  Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  const std::string id = service.SubmitFile(
      Config("cartpole_apex_dqn"),
      {"--set", "stop.target_return=null", "--set", "stop.max_env_steps=1000000000", "--set", "stop.max_seconds=0"});
  const auto rate = [&] { return Gauge(service, id, "learner", "algorithm/q_learning_rate"); };
  Eventually("the learner's rate", [&] { return rate() > 0; });
  CHECK(rate() != 1e-4);
  const auto [wrong, refusal] = service.Waggle({"set", id, "algorithm.n_step=7"});
  CHECK(wrong == 2);
  CHECK(absl::StrContains(refusal, "algorithm.n_step: is no key that can change while the experiment runs"));
  const auto [done, said] = service.Waggle({"set", id, "algorithm.optimizer.learning_rate=1e-4"});
  INFO(said);
  REQUIRE(done == 0);
  CHECK(absl::StrContains(said, "-> 1e-04"));
  service.Kill("hub");  // At once after the answer.
  service.StartHub();
  Eventually("the rate with the next hub", [&] { return rate() == 1e-4; });
  service.Kill("learner");
  service.StartLearner("learner");
  Eventually("the rate of the next learner",
             [&] { return service.WorkerOf(id, "learner") == "learner" && rate() == 1e-4; });
  const std::string file = service.File(absl::StrCat("out/", id, "/experiment.yaml"));
  CHECK(absl::StrContains(ValueOf(ReadSmallFile(file, 1 << 20)), "learning_rate: 1e-04\n"));
  CHECK(
      absl::StrContains(service.Waggle({"logs", id}).second, "set by a user: algorithm.optimizer.learning_rate from"));
  CHECK(service.Waggle({"stop", id}).first == 0);
  service.AwaitOutcome(id, "stopped");
  service.EndAll();
}

TEST_CASE("an experiment goes on by itself, whichever of its processes is killed", "[e2e]") {
  Service service;
  const std::string id = StartEndless(&service);
  StepWatch watch(&service, id);
  watch.AwaitProgress("the start", 500);
  // The hub knows the replay servers of the experiment's tables.
  const auto [asked, why] = service.Waggle({"why", "--json"});
  CHECK((asked == 0 || asked == 3));
  CHECK(nlohmann::json::parse(why).at("tables").size() == 2);

  const std::string actor = service.WorkerOf(id, "actor");
  service.Kill(actor);
  service.StartActor(actor);
  watch.AwaitProgress("an actor's end", 500);

  service.Kill("evaluator");
  service.StartEvaluator("evaluator");
  watch.AwaitProgress("the evaluator's end", 500);
  Eventually("another evaluator", [&] { return service.WorkerOf(id, "evaluator") == "evaluator"; });

  service.Kill("replay-0");
  service.StartReplay("replay-0");
  watch.AwaitProgress("a replay server's end", 500);

  const std::string learner = service.WorkerOf(id, "learner");
  const absl::Time killed = absl::Now();
  service.Kill(learner);
  const std::string successor = AwaitSuccessor(service, id, learner, &watch);
  watch.AwaitProgress("the learner's end", 1);
  std::printf("another learner has gone on %.1f s after the first was killed\n",
              absl::ToDoubleSeconds(absl::Now() - killed));

  watch.AllowForgetting();
  service.Kill("hub");
  service.StartHub();
  watch.AwaitProgress("the hub's end", 500);

  // A learner that hangs is replaced too, and its actions after it wakes do not count.
  service.StartLearner(learner);
  Eventually("a learner that stands by", [&] { return service.InPool("learner") == 2; });
  service.process(successor)->Signal(SIGSTOP);
  Eventually("a learner in the place of one that stands still", [&] {
    watch.Look("the learner's standstill");
    return service.WorkerOf(id, "learner") == learner;
  });
  watch.AwaitProgress("the learner's standstill", 500);
  service.process(successor)->Signal(SIGCONT);
  Eventually("the one that stood still, free again", [&] {
    watch.Look("the learner's return");
    return service.InPool("learner") == 2;
  });
  watch.AwaitProgress("the learner's return", 500);

  // A second life after all processes have ended.
  const std::vector<std::string> names = {"hub",     "replay-0",  "replay-1",  "actor-0",
                                          "actor-1", "evaluator", "learner-0", "learner-1"};
  watch.AllowForgetting();
  for (const std::string& name : names) {
    service.process(name)->Signal(SIGKILL);
  }
  for (const std::string& name : names) {
    service.process(name)->Wait();
  }
  StartAll(&service);
  watch.AwaitProgress("everything's end", 500);
  CHECK(service.Waggle({"stop", id}).first == 0);
  service.AwaitOutcome(id, "stopped");
  service.EndAll();
}

}  // namespace
}  // namespace waggle::testing
