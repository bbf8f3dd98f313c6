#include "cli/run/local_processes.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

TEST_CASE("Each process gets its flags, and an actor its index", "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", absl::UnixEpoch()));
  Experiment experiment;
  experiment.actor.processes = 2;
  std::vector<std::vector<std::string>> commands;
  for (const Supervision::Process& process : ProcessesOf(experiment)) {
    commands.push_back(CommandFor(process, experiment.replay, "/bin", "127.0.0.1:7", folder));
  }
  const std::string out = folder.path();
  CHECK(commands ==
        std::vector<std::vector<std::string>>{
            {"/bin/waggle-param-server", "--listen", "127.0.0.1:0", "--data-dir", out + "/hub", "--output-dir", out,
             "--no-plot"},
            {"/bin/waggle-replay-server", "--param-server", "127.0.0.1:7", "--listen", "127.0.0.1:0", "--index", "0"},
            {"/bin/waggle-learner", "--param-server", "127.0.0.1:7", "--listen", "127.0.0.1:0", "--index", "0"},
            {"/bin/waggle-actor", "--param-server", "127.0.0.1:7", "--index", "0"},
            {"/bin/waggle-actor", "--param-server", "127.0.0.1:7", "--index", "1"},
            {"/bin/waggle-actor", "--param-server", "127.0.0.1:7", "--index", "0", "--evaluator"}});
  experiment.evaluation.enabled = false;
  CHECK(ProcessesOf(experiment).size() == 5);
  CHECK(ProcessesOf(experiment)[4].name == "actor-1");
}

TEST_CASE("A run whose actors push gradients has gradient workers, the primary among them, and no replay server",
          "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", absl::UnixEpoch()));
  Experiment experiment;
  experiment.learner.gradients = "push";
  experiment.learner.gradient_server.reducers = 2;
  experiment.evaluation.enabled = false;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> commands;
  for (const Supervision::Process& process : ProcessesOf(experiment)) {
    names.push_back(process.name);
    commands.push_back(CommandFor(process, experiment.replay, "/bin", "h:1", folder));
  }
  CHECK(names == std::vector<std::string>{"param-server", "gradient-0", "gradient-1", "gradient-2", "actor-0"});
  CHECK(commands[3] == std::vector<std::string>{"/bin/waggle-param-server", "--role", "reducer", "--param-server",
                                                "h:1", "--listen", "127.0.0.1:0", "--index", "2"});
}

TEST_CASE("Several replay servers have different names and indices", "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", absl::UnixEpoch()));
  Experiment experiment;
  CHECK(ProcessesOf(experiment)[1].name == "replay-server");
  experiment.replay.servers = 2;
  const std::vector<Supervision::Process> processes = ProcessesOf(experiment);
  CHECK(processes[1].name == "replay-server-0");
  CHECK(processes[2].name == "replay-server-1");
  CHECK(processes[3].name == "learner");
  CHECK(CommandFor(processes[2], experiment.replay, "/bin", "h:1", folder) ==
        std::vector<std::string>{"/bin/waggle-replay-server", "--param-server", "h:1", "--listen", "127.0.0.1:0",
                                 "--index", "1"});
}

TEST_CASE("Several learners have different names and indices", "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", absl::UnixEpoch()));
  Experiment experiment;
  experiment.learner.processes = 2;
  const std::vector<Supervision::Process> processes = ProcessesOf(experiment);
  CHECK(processes[2].name == "learner");
  CHECK(processes[3].name == "learner-1");
  CHECK(CommandFor(processes[3], experiment.replay, "/bin", "h:1", folder) ==
        std::vector<std::string>{"/bin/waggle-learner", "--param-server", "h:1", "--listen", "127.0.0.1:0", "--index",
                                 "1"});
}

TEST_CASE("A replay server has a folder if its tables must outlive it, or may exceed its memory", "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", absl::UnixEpoch()));
  Experiment experiment;
  const auto flags = [&](size_t process) {
    std::vector<std::string> command =
        CommandFor(ProcessesOf(experiment)[process], experiment.replay, "/bin", "h:1", folder);
    command.erase(command.begin(), command.begin() + 7);
    return command;
  };
  CHECK(flags(1).empty());
  experiment.replay.table.durability = Durability::kLog;
  const std::string out = folder.path();
  CHECK(flags(1) == std::vector<std::string>{"--data-dir", out + "/replay", "--checkpoint-seconds", "300"});
  experiment.replay.table.durability = Durability::kNone;
  experiment.replay.table.memory_limit = 1;
  experiment.replay.servers = 2;
  experiment.replay.checkpoint_seconds = 0.5;
  CHECK(flags(1) == std::vector<std::string>{"--data-dir", out + "/replay-0", "--checkpoint-seconds", "0.5"});
  CHECK(flags(2) == std::vector<std::string>{"--data-dir", out + "/replay-1", "--checkpoint-seconds", "0.5"});
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
}

}  // namespace
}  // namespace waggle
