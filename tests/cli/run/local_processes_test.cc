#include "cli/run/local_processes.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

using Words = std::vector<std::string>;

// The processes of an experiment: their names, and their commands as text. "OUT" stands for the run's folder.
struct Processes {
  explicit Processes(const Experiment& experiment) {
    const TemporaryFolder temporary;
    const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", absl::UnixEpoch()));
    for (const Supervision::Process& process : ProcessesOf(experiment)) {
      names.push_back(process.name);
      commands.push_back(absl::StrReplaceAll(
          absl::StrJoin(CommandFor(process, experiment.replay, "/bin", "h:1", folder), " "), {{folder.path(), "OUT"}}));
    }
  }
  Words names;
  Words commands;
};

TEST_CASE("Each process gets its flags, and an actor its index", "[unit]") {
  Experiment experiment;
  experiment.actor.processes = 2;
  const Processes processes(experiment);
  CHECK(processes.names == Words{"param-server", "replay-server", "learner", "actor-0", "actor-1", "evaluator"});
  CHECK(processes.commands ==
        Words{"/bin/waggle-param-server --listen 127.0.0.1:0 --data-dir OUT/hub --output-dir OUT --no-plot",
              "/bin/waggle-replay-server --param-server h:1 --listen 127.0.0.1:0 --index 0",
              "/bin/waggle-learner --param-server h:1 --listen 127.0.0.1:0 --index 0",
              "/bin/waggle-actor --param-server h:1 --index 0", "/bin/waggle-actor --param-server h:1 --index 1",
              "/bin/waggle-actor --param-server h:1 --index 0 --evaluator"});
}

TEST_CASE("A run whose actors push gradients has gradient workers, the primary among them, and no replay server",
          "[unit]") {
  Experiment experiment;
  experiment.learner.gradients = "push";
  experiment.learner.gradient_server.reducers = 2;
  experiment.evaluation.enabled = false;
  const Processes processes(experiment);
  CHECK(processes.names == Words{"param-server", "gradient-0", "gradient-1", "gradient-2", "actor-0"});
  CHECK(processes.commands[3] ==
        "/bin/waggle-param-server --role reducer --param-server h:1 --listen 127.0.0.1:0 --index 2");
}

TEST_CASE("Several replay servers and learners have different names and indices", "[unit]") {
  Experiment experiment;
  experiment.replay.servers = 2;
  experiment.learner.processes = 2;
  experiment.evaluation.enabled = false;
  const Processes processes(experiment);
  CHECK(processes.names ==
        Words{"param-server", "replay-server-0", "replay-server-1", "learner", "learner-1", "actor-0"});
  CHECK(processes.commands[2] == "/bin/waggle-replay-server --param-server h:1 --listen 127.0.0.1:0 --index 1");
  CHECK(processes.commands[4] == "/bin/waggle-learner --param-server h:1 --listen 127.0.0.1:0 --index 1");
}

TEST_CASE("A replay server has a folder if its tables must outlive it, or may exceed its memory", "[unit]") {
  Experiment experiment;
  experiment.replay.table.durability = Durability::kLog;
  CHECK_THAT(Processes(experiment).commands[1], Catch::EndsWith(" --data-dir OUT/replay --checkpoint-seconds 300"));
  experiment.replay.table.durability = Durability::kNone;
  experiment.replay.table.memory_limit = 1;
  experiment.replay.servers = 2;
  experiment.replay.checkpoint_seconds = 0.5;
  for (const size_t server : {1, 2}) {
    CHECK_THAT(Processes(experiment).commands[server],
               Catch::EndsWith(absl::StrCat(" --data-dir OUT/replay-", server - 1, " --checkpoint-seconds 0.5")));
  }
}

TEST_CASE("A limit on seconds bounds the wait for the first step too", "[unit]") {
  Experiment experiment;
  CHECK(RulesOf(experiment).first_step_patience == absl::InfiniteDuration());
  CHECK_FALSE(RulesOf(experiment).needs_evaluator);
  experiment.stop.max_seconds = 30;
  experiment.stop.target_return = 475;
  CHECK(RulesOf(experiment).first_step_patience == absl::Seconds(90));
  CHECK(RulesOf(experiment).needs_evaluator);
}

TEST_CASE("A missing executable is named", "[unit]") {
  const absl::Status status = CheckExecutables(Experiment(), "/none");
  CHECK_THAT(std::string(status.message()), Catch::Contains("/none/waggle-param-server, which must be beside"));

  // The package that has it is named if it is another one than that of waggle.
  const TemporaryFolder folder;
  for (const char* const name : {"waggle-param-server", "waggle-replay-server"}) {
    std::ofstream(folder.File(name)) << "#!/bin/sh\n";
    std::filesystem::permissions(folder.File(name), std::filesystem::perms::owner_all);
  }
  CHECK_THAT(std::string(CheckExecutables(Experiment(), folder.path()).message()),
             Catch::Contains("waggle-learner, which must be beside waggle; ") && Catch::Contains("waggle-worker"));
}

}  // namespace
}  // namespace waggle
