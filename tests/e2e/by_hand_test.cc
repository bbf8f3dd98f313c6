// It starts the processes as an operator does in separate terminals.

#include <filesystem>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/e2e/service.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("processes started by hand in the wrong order find each other and train what is submitted", "[e2e]") {
  Service service;
  service.StartActor("actor");
  service.StartEvaluator("evaluator");
  service.StartLearner("learner");
  service.StartReplay("replay");
  service.StartHub();
  Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  const std::string id = service.Submit(
      "experiment: {name: by_hand}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\n"
      "replay: {rate_limiter: {min_items: 500, samples_per_insert: 8}}\nstop: {max_learner_steps: 300}\n");
  service.AwaitOutcome(id, "limit");
  const auto figures = [&] { return Contents(service.File("out/" + id + "/metrics.csv")); };
  Eventually("its last figures", [&] { return figures().find(",algorithm/q_loss,") != std::string::npos; });
  CHECK_THAT(figures(), Catch::StartsWith("step,seconds,name,value\n"));

  // The processes have outlived the experiment, and work for the next one.
  const std::string next = service.Submit(
      "experiment: {name: next}\nenvironment: {name: Pendulum-v1}\nalgorithm: {name: td3}\n"
      "replay: {rate_limiter: {min_items: 500, samples_per_insert: 8}}\nstop: {max_learner_steps: 300}\n");
  service.AwaitOutcome(next, "limit");
  CHECK(service.Outcome(id) == "limit");
  for (const std::string& ended : {id, next}) {
    Eventually("the end of all its work", [&] { return !service.Status(ended).at("ended_at").is_null(); });
    CHECK(service.Status(ended).at("weights_unsaved") == "");
  }
  CHECK(std::filesystem::exists(service.File("out/" + next + "/checkpoints")));
  service.EndAll();
}

TEST_CASE("an experiment is stopped, continues from its state, and leaves nothing behind when it is deleted", "[e2e]") {
  Service service;
  service.StartHub();
  Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  const std::string id = service.Submit(
      "experiment: {name: stopped}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\n"
      "replay: {rate_limiter: {min_items: 500, samples_per_insert: 8}}\nlearner: {checkpoint: {period_seconds: 1}}\n"
      "stop: {max_env_steps: 1000000000}\n");
  CHECK(service.Outcome(id) == "queued");
  service.StartActor("actor");
  service.StartEvaluator("evaluator");
  service.StartLearner("learner");
  service.StartReplay("replay");
  const auto learner_steps = [&] {
    const nlohmann::json status = service.Status(id);
    return status.is_null() ? 0 : status.at("learner_steps").get<double>();
  };
  Eventually("learner steps", [&] { return learner_steps() > 100; });
  CHECK(service.Waggle({"delete", id}).first == 2);  // It is running.
  CHECK(service.Waggle({"stop", id}).first == 0);
  service.AwaitOutcome(id, "stopped");
  const nlohmann::json stopped = service.Status(id);

  CHECK(service.Waggle({"resume", id}).first == 0);
  Eventually("more learner steps", [&] { return learner_steps() > stopped.at("learner_steps").get<double>() + 100; });
  CHECK(service.Outcome(id) == "running");
  CHECK(service.Status(id).at("env_steps").get<double>() >= stopped.at("env_steps").get<double>());
  CHECK_THAT(service.process("learner")->Log(), Catch::Contains("goes on from step "));

  CHECK(service.Waggle({"stop", id}).first == 0);
  service.AwaitOutcome(id, "stopped");
  CHECK(service.Waggle({"delete", id}).first == 0);
  CHECK(service.Waggle({"status", id}).first == 2);
  for (const std::string folder : {"hub/experiments/", "out/"}) {
    CHECK_FALSE(std::filesystem::exists(service.File(folder + id)));
  }
  service.EndAll();
}

TEST_CASE("a hub without experiments keeps its workers waiting until they are stopped", "[e2e]") {
  Service service;
  service.StartHub();
  service.StartActor("actor");
  Eventually("the actor at the hub", [&] { return service.InPool("actor") == 1; });
  service.EndAll();
}

}  // namespace
}  // namespace waggle::testing
