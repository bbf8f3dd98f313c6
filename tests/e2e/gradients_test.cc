// No source of its own: a gradient server whose processes are killed while workers push.

#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/saved_model.h"
#include "common/rpc/server.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

using Process = std::unique_ptr<RunningProcess>;

// Of the gradients that a worker has pushed, how many it knows to be applied.
int64_t Applied(const Process& worker) {
  const std::string log = worker->Log();
  const size_t at = log.rfind("\napplied ");
  long long applied = 0;
  return at != std::string::npos && std::sscanf(log.c_str() + at, "\napplied %lld", &applied) == 1 ? applied : 0;
}

class GradientRun {
 public:
  GradientRun() {
    std::ofstream(folder_.File("experiment.yaml"))
        << "experiment: {name: pushed}\n"
           "algorithm: {name: a2c, optimizer: {type: sgd, learning_rate: 1, gradient_clip_norm: 0}}\n"
           "learner: {gradients: push, publish_period_steps: 1, checkpoint: {period_seconds: 0.2},\n"
           "  gradient_server: {reducers: 2, batch: 2, primary_batch: 2, flush_seconds: 0.002}}\n"
           "evaluation: {enabled: false}\nstop: {max_env_steps: 1000}\n";
    param_server_ = Start({"waggle-param-server", "--listen", hub_, "--data-dir", folder_.File("hub"), "--experiment",
                           folder_.File("experiment.yaml")});
  }

  Process Start(std::vector<std::string> command) {
    const std::string log = absl::StrCat("log", ++started_);
    return std::make_unique<RunningProcess>(folder_, log, std::move(command));
  }
  Process StartPrimary() {
    return Start({"waggle-param-server", "--role", "primary", "--param-server", hub_, "--listen", "127.0.0.1:0",
                  "--output-dir", folder_.File("out"), "--resume"});
  }
  Process StartReducer(int index) {
    return Start({"waggle-param-server", "--role", "reducer", "--param-server", hub_, "--listen", "127.0.0.1:0",
                  "--index", absl::StrCat(index)});
  }
  Process StartWorker() { return Start({"gradient_worker", hub_}); }

  void AwaitMore(const Process& worker) {
    const int64_t before = Applied(worker);
    INFO(worker->Log());
    Eventually("more gradients applied", [&] { return Applied(worker) >= before + 100; });
  }
  bool HasCheckpoint() const { return std::filesystem::exists(folder_.File("out/checkpoints")); }

  // The newest weights that the hub has kept, once it has ended.
  SavedModel EndHub() {
    End(param_server_);
    return ValueOf(LoadSavedModel(folder_.File(absl::StrCat("hub/", kNewestModelFolder))));
  }
  static void Kill(const Process& process) {
    process->Signal(SIGKILL);
    process->Wait();
  }
  static void End(const Process& process) {
    process->Signal(SIGTERM);
    const ChildExit exit = process->Wait();
    INFO(process->Log());
    REQUIRE(exit.ok());
  }

 private:
  const TemporaryFolder folder_;
  // A port that was free a moment ago.
  const std::string hub_ = ValueOf(RpcServer::Start("127.0.0.1:0", {}))->address();
  int started_ = 0;
  Process param_server_;
};

TEST_CASE("when a worker, a reducer and the primary are killed the others go on and every push is answered", "[e2e]") {
  GradientRun run;
  Process primary = run.StartPrimary();
  Process reducers[] = {run.StartReducer(0), run.StartReducer(1)};
  const Process workers[] = {run.StartWorker(), run.StartWorker()};
  {
    const Process victim = run.StartWorker();
    run.AwaitMore(victim);
    GradientRun::Kill(victim);
  }
  run.AwaitMore(workers[0]);
  GradientRun::Kill(reducers[0]);
  run.AwaitMore(workers[0]);  // By the other one, if it was that.
  run.AwaitMore(workers[1]);
  reducers[0] = run.StartReducer(0);
  Eventually("a checkpoint", [&run] { return run.HasCheckpoint(); });
  for (int life = 0; life < 2; ++life) {
    GradientRun::Kill(primary);
    primary = run.StartPrimary();
    run.AwaitMore(workers[0]);
    run.AwaitMore(workers[1]);
  }
  for (const Process& worker : workers) {
    GradientRun::End(worker);
    const std::string log = worker->Log();
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
  GradientRun::End(primary);
  for (const Process& reducer : reducers) {
    GradientRun::End(reducer);
  }
  // Each step has taken 1 off every weight, whatever was undone in between.
  const SavedModel newest = run.EndHub();
  CHECK(newest.snapshot.version.epoch == 3);
  std::vector<float> values(newest.snapshot.data.size() / sizeof(float));
  newest.snapshot.data.CopyTo(reinterpret_cast<char*>(values.data()));
  CHECK(values.front() == -static_cast<float>(newest.snapshot.version.version));
  CHECK(values.back() == values.front());
}

}  // namespace
}  // namespace waggle::testing
