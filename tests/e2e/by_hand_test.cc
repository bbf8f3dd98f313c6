// No source of its own: this is what a user does who starts the processes in separate terminals.

#include <signal.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/rpc/server.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// A port that was free a moment ago: the others have to know the hub's address before it is there.
std::string FreeAddress() {
  return ValueOf(RpcServer::Start("127.0.0.1:0", {}))->address();
}

TEST_CASE("processes started by hand in the wrong order find each other and train", "[e2e]") {
  const TemporaryFolder folder;
  const std::string hub = FreeAddress();
  RunningProcess actor(folder, "actor", {"waggle-actor", "--param-server", hub});
  RunningProcess evaluator(folder, "evaluator", {"waggle-actor", "--evaluator", "--param-server", hub});
  RunningProcess learner(folder, "learner",
                         {"waggle-learner", "--param-server", hub, "--output-dir", folder.File("out")});
  RunningProcess replay(folder, "replay", {"waggle-replay-server", "--param-server", hub, "--listen", "127.0.0.1:0"});

  std::ofstream(folder.File("experiment.yaml"))
      << "experiment: {name: by_hand}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\n"
         "replay: {rate_limiter: {min_items: 500, samples_per_insert: 8}}\nstop: {max_learner_steps: 300}\n";
  RunningProcess param_server(folder, "param_server",
                              {"waggle-param-server", "--listen", hub, "--data-dir", folder.File("hub"), "--experiment",
                               folder.File("experiment.yaml")});

  // When the run is over its workers end by themselves, the servers when they are told to.
  REQUIRE(learner.Wait().ok());
  INFO(learner.Log());
  REQUIRE(actor.Wait().ok());
  REQUIRE(evaluator.Wait().ok());
  replay.Signal(SIGTERM);
  REQUIRE(replay.Wait().ok());
  param_server.Signal(SIGTERM);
  REQUIRE(param_server.Wait().ok());
  const std::string figures = Contents(folder.File("hub/metrics.csv"));
  CHECK_THAT(figures, Catch::StartsWith("step,seconds,name,value\n") && Catch::Contains(",algorithm/q_loss,"));
}

TEST_CASE("a hub that knows no experiment yet keeps its workers waiting until they are told to stop", "[e2e]") {
  const TemporaryFolder folder;
  const std::string hub = FreeAddress();
  RunningProcess param_server(folder, "param_server",
                              {"waggle-param-server", "--listen", hub, "--data-dir", folder.File("hub")});
  RunningProcess actor(folder, "actor", {"waggle-actor", "--param-server", hub});
  Eventually("the actor at the hub", [&] {
    RunningProcess status(folder, absl::StrCat("status", absl::GetCurrentTimeNanos()),
                          {"waggle", "status", "--json", "--param-server", hub});
    return status.Wait().ok() && status.Log().find("\"actor\"") != std::string::npos;
  });
  actor.Signal(SIGTERM);
  REQUIRE(actor.Wait().ok());
  param_server.Signal(SIGTERM);
  REQUIRE(param_server.Wait().ok());
}

}  // namespace
}  // namespace waggle::testing
