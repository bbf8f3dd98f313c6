// A gradient server whose processes are killed while workers push.

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "common/rl/checkpoint/saved_model.h"
#include "tests/e2e/service.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// The number of a worker's pushed gradients that it knows to be applied.
int64_t Applied(const Service& service, const std::string& worker) {
  const std::string log = service.process(worker)->Log();
  const size_t at = log.rfind("\napplied ");
  long long applied = 0;
  return at != std::string::npos && std::sscanf(log.c_str() + at, "\napplied %lld", &applied) == 1 ? applied : 0;
}

void AwaitMore(const Service& service, const std::string& worker) {
  const int64_t before = Applied(service, worker);
  INFO(service.process(worker)->Log());
  Eventually("more gradients applied", [&] { return Applied(service, worker) >= before + 100; });
}

TEST_CASE("when a worker, a reducer and the primary are killed the others go on, and every push is answered", "[e2e]") {
  Service service;
  service.StartHub();
  for (const std::string number : {"0", "1", "2"}) {
    service.StartGradientWorker("gradient-" + number);
  }
  const std::vector<std::string> workers = {"worker-0", "worker-1"};
  for (const char* const worker : {"worker-0", "worker-1", "victim"}) {
    service.Start(worker, {"gradient_worker", service.hub()});
  }
  Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  const std::string id = service.Submit(
      "experiment: {name: pushed}\n"
      "algorithm: {name: a2c, normalize_returns: false, optimizer: {type: sgd, learning_rate: 1, gradient_clip_norm: "
      "0}}\n"
      "actor: {processes: {min: 1, max: 3}}\n"
      "learner: {gradients: push, publish_period_steps: 1, checkpoint: {period_seconds: 0.2},\n"
      "  gradient_server: {reducers: 2, batch: 2, primary_batch: 2, flush_seconds: 0.002}}\n"
      "evaluation: {enabled: false}\nstop: {max_env_steps: 1000}\n");
  AwaitMore(service, "victim");
  service.Kill("victim");
  AwaitMore(service, "worker-0");
  const std::string reducer = service.WorkerOf(id, "reducer");
  service.Kill(reducer);
  AwaitMore(service, "worker-0");  // By the other one, if this was the primary.
  AwaitMore(service, "worker-1");
  service.StartGradientWorker(reducer);
  Eventually("a checkpoint", [&] { return std::filesystem::exists(service.File("out/" + id + "/checkpoints")); });
  for (int life = 0; life < 2; ++life) {
    std::string primary;
    Eventually("a primary", [&] { return !(primary = service.WorkerOf(id, "learner")).empty(); });
    service.Kill(primary);
    service.StartGradientWorker(primary);
    AwaitMore(service, "worker-0");
    AwaitMore(service, "worker-1");
  }
  for (const std::string& worker : workers) {
    service.End(worker);
    const std::string log = service.process(worker)->Log();
    const size_t at = log.rfind("\npushed ");
    INFO(log);
    REQUIRE(at != std::string::npos);
    long long pushed = 0;
    long long applied = 0;
    long long refused = 0;
    REQUIRE(std::sscanf(log.c_str() + at, "\npushed %lld of which applied %lld refused %lld", &pushed, &applied,
                        &refused) == 3);
    CHECK(pushed > 300);
    CHECK(applied == pushed);
    CHECK(refused == 0);
  }
  for (const std::string number : {"0", "1", "2"}) {
    service.End("gradient-" + number);
  }
  service.End("hub");
  // Each step has subtracted 1 from every weight, whatever was undone in between.
  const SavedModel newest =
      ValueOf(LoadSavedModel(service.File("hub/experiments/" + id + "/hub/" + kNewestModelFolder)));
  CHECK(newest.snapshot.version.epoch == 3);
  std::vector<float> values(newest.snapshot.data.size() / sizeof(float));
  newest.snapshot.data.CopyTo(reinterpret_cast<char*>(values.data()));
  CHECK(values.front() == -static_cast<float>(newest.snapshot.version.version));
  CHECK(values.back() == values.front());
}

}  // namespace
}  // namespace waggle::testing
