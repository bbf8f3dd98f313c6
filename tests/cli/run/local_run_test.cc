#include "cli/run/local_run.h"

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "common/base/process/child_process.h"
#include "common/base/threads/stop_token.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/checkpoint/saved_model.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/child_exit.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

const std::string kBin = WAGGLE_TEST_BIN_DIR;
const char* const kScripts[] = {"waggle-replay-server", "waggle-learner", "waggle-actor", "evaluator"};

// `waggle run` with a scripted hub and shell scripts as other processes: the nth start of a process waits for a line in
// its nth fifo and runs it.
class ScriptedRun {
 public:
  // `unstartable`, if any, names an executable of a format that the system does not know.
  explicit ScriptedRun(std::vector<std::string> overrides = {}, const std::string& unstartable = "",
                       bool refuses = false) {
    if (refuses) {
      std::ofstream(folder_.File("refuse")) << "yes";
    }
    std::filesystem::create_directory(folder_.File("bin"));
    std::filesystem::create_symlink(kBin + "/fake_hub", folder_.File("bin/waggle-param-server"));
    for (const char* name : {"waggle-replay-server", "waggle-learner", "waggle-actor"}) {
      const std::string path = folder_.File(std::string("bin/") + name);
      std::ofstream(path) << (name == unstartable ? "\x7f" : "") << "#!/bin/sh\ncd " << folder_.path()
                          << "\nname=" << name << "\ncase \"$*\" in *--evaluator*) name=evaluator;; esac\n"
                          << "echo $name $*\necho $$ >> $name.pids\n"
                          << "read line < $name.$(grep -c . $name.pids).fifo\neval \"$line\"\n";
      std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    for (const char* name : kScripts) {
      for (const char* start : {".1.fifo", ".2.fifo", ".3.fifo"}) {
        REQUIRE(mkfifo(folder_.File(std::string(name) + start).c_str(), 0600) == 0);
      }
    }
    std::ofstream(folder_.File("x.yaml")) << "algorithm: {name: apex_dqn}\nstop: {max_seconds: 60}\n";
    ChildOptions options;
    options.command = {kBin + "/local_run_probe", folder_.File("bin"), folder_.File("x.yaml"), folder_.File("out")};
    options.command.insert(options.command.end(), overrides.begin(), overrides.end());
    options.log_path = folder_.File("log");
    options.default_environment = {{"WAGGLE_TEST_CLOCK", folder_.File("clock")}};
    run_ = ValueOf(ChildProcess::Spawn(options));
  }

  // Waits until the process of this start reads, then makes it do `line`.
  void Tell(const std::string& name, const std::string& line, int start = 1) {
    std::ofstream(folder_.File(name + "." + std::to_string(start) + ".fifo")) << line << std::endl;
  }
  // Makes the first learner run `what` when it is asked to end, and waits until it is ready to.
  void AtEnd(const std::string& what) {
    Tell("waggle-learner", "trap 'kill $!; " + what + "' TERM; sleep 1000 & echo up > waggle-learner.3.fifo; wait $!");
    std::string up;
    std::ifstream(folder_.File("waggle-learner.3.fifo")) >> up;
    CHECK(up == "up");
  }
  // Sets the state that the hub reports.
  void SetState(const std::string& state) { std::ofstream(folder_.File("state")) << state << std::endl; }
  ChildExit WaitForExit() { return testing::WaitForExit(run_.get()); }
  nlohmann::json Summary() const { return nlohmann::json::parse(Contents(folder_.File("out/summary.json"))); }
  std::string Log() const { return Contents(folder_.File("log")); }
  ChildProcess* process() { return run_.get(); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> run_;
};

TEST_CASE("A run without a target that reaches its limit has succeeded", "[e2e]") {
  ScriptedRun run;
  run.SetState("limit");
  CHECK(run.WaitForExit().ok());
  const nlohmann::json summary = run.Summary();
  CHECK(summary["outcome"] == "limit");
  CHECK(summary["reason"] == "the test said limit");
  CHECK(summary["env_steps"] == 1234);
  CHECK(summary["processes"].size() == 5);
  CHECK(summary["id"] == "x-x7k2q");
  const std::string submitted = Contents(run.folder().File("submitted"));
  CHECK_THAT(submitted, Catch::StartsWith(Contents(run.folder().File("x.yaml")) + "---\n"));
  CHECK_THAT(submitted, Catch::Contains("batch_size: 64"));
  // The last state is shown, though no line was due.
  CHECK(run.Log().find("1.23k env steps") < run.Log().find("limit after "));
}

TEST_CASE("A run with a target has succeeded if it is solved, but not at a limit", "[e2e]") {
  for (const std::string state : {"solved", "limit"}) {
    ScriptedRun run({"stop.target_return=475", "experiment.seed=7"});
    run.SetState(state);
    CHECK(run.WaitForExit().code == (state == "solved" ? 0 : 1));
    CHECK(run.Summary()["outcome"] == state);
    CHECK(run.Summary()["seed"] == 7);
  }
}

TEST_CASE("An experiment that the hub refuses fails the run", "[e2e]") {
  ScriptedRun run({}, "", /*refuses=*/true);
  CHECK(run.WaitForExit().code == 1);
  CHECK(run.Summary()["outcome"] == "failed");
  CHECK(run.Summary()["processes"].size() == 1);
  CHECK(run.Log().find("failed: the experiment was not taken in: the test refuses it\n") != std::string::npos);
}

TEST_CASE("A solved run whose weights were not kept has failed, and its last line shows it", "[e2e]") {
  ScriptedRun run;
  std::ofstream(run.folder().File("weights_unsaved")) << "full";
  run.AtEnd("echo no space left; exit 1");
  run.SetState("solved");
  CHECK(run.WaitForExit().code == 1);
  CHECK(run.Summary()["outcome"] == "failed");
  CHECK(run.Log().find("  no space left\n") != std::string::npos);
  const std::string log = run.Log();
  CHECK_THAT(log.substr(log.rfind('\n', log.size() - 2) + 1), Catch::Contains("failed after "));
}

TEST_CASE("A solved run has failed if its best weights are lost, unless the run's folder has them", "[e2e]") {
  for (const uint64_t kept : {14, 15}) {
    ScriptedRun run;
    run.Tell("evaluator", "exit 0");  // So that the run has begun.
    std::ofstream(run.folder().File("weights_unsaved")) << "full";
    SavedModel best;
    best.snapshot.version = {1, kept};
    const auto store = ValueOf(CheckpointStore::Open(run.folder().File("out/best"), 1));
    REQUIRE_OK(WriteSavedModel(best, store.get()));
    run.AtEnd("exit 0");
    run.SetState("solved");
    CHECK(run.WaitForExit().code == (kept == 15 ? 0 : 1));
    CHECK(run.Summary()["outcome"] == (kept == 15 ? "solved" : "failed"));
  }
}

TEST_CASE("If a process cannot be started, the processes after it do not start", "[e2e]") {
  ScriptedRun run({}, "waggle-replay-server");
  CHECK(run.WaitForExit().code == 1);
  CHECK(run.Log().find("replay-server: cannot start") != std::string::npos);
  CHECK(run.Log().find("has not ended") == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(run.folder().File("out/logs/learner.log")));
}

TEST_CASE("Changes of the wall clock do not disturb a run", "[e2e]") {
  for (const char* const seconds : {"3600", "-3600"}) {
    ScriptedRun run;
    run.Tell("evaluator", "kill -9 $$");  // So that the run has begun.
    const auto looks = [&run] { return Contents(run.folder().File("looks")).size(); };
    std::ofstream(run.folder().File("clock.new")) << seconds << std::flush;
    std::filesystem::rename(run.folder().File("clock.new"), run.folder().File("clock"));
    const auto before = looks();
    const Deadline deadline(absl::Minutes(2));
    while (looks() < before + 3 && !run.process()->Poll().has_value() && deadline.Left() > absl::ZeroDuration()) {
      StopToken().WaitFor(absl::Milliseconds(20));
    }
    CHECK(looks() >= before + 3);
    run.process()->Signal(SIGINT);
    CHECK(run.WaitForExit().code == 130);
    CHECK(run.Summary()["outcome"] == "interrupted");
    CHECK(run.Summary()["wall_seconds"] < 600);
  }
}

TEST_CASE("An interrupted run stops everything and says so", "[e2e]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    ScriptedRun run;
    run.Tell("waggle-actor", "kill -9 $$");  // So that the run has begun.
    run.process()->Signal(signal);
    CHECK(run.WaitForExit().code == 130);
    CHECK(run.Summary()["outcome"] == "interrupted");
  }
}

TEST_CASE("A summary that could not be written is not mentioned", "[e2e]") {
  ScriptedRun run;
  run.Tell("waggle-actor", "kill -9 $$");  // So that the run has begun.
  std::filesystem::create_directory(run.folder().File("out/summary.json"));
  run.process()->Signal(SIGINT);
  CHECK(run.WaitForExit().code == 130);
  CHECK(run.Log().find("interrupted after ") != std::string::npos);
  CHECK(run.Log().find("see ") == std::string::npos);
}

TEST_CASE("Nothing starts if the experiment, the executables or the folder are wrong", "[e2e]") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("good.yaml")) << "algorithm: {name: apex_dqn}\nstop: {max_seconds: 1}\n";
  std::ofstream(folder.File("bad.yaml")) << "algorithm: {name: apex_dqm}\n";
  // No machine has this much memory.
  std::ofstream(folder.File("large.yaml")) << "algorithm: {name: apex_dqn}\nstop: {max_seconds: 1}\n"
                                              "network: {torso: [{units: [65536, 65536, 65536, 65536, 65536]}]}\n"
                                              "actor: {processes: 1024}\n";
  struct Case {
    std::string binaries;
    std::string file;
    std::string output;
    int code;
    std::string error;
  };
  // Four names of a program that must not start.
  std::filesystem::create_directory(folder.File("bin"));
  for (const char* name : {"param-server", "replay-server", "learner", "actor"}) {
    std::filesystem::create_symlink("/bin/false", folder.File(std::string("bin/waggle-") + name));
  }
  const std::vector<Case> cases = {
      {folder.File("bin"), folder.File("bad.yaml"), folder.File("out1"), 2, "did you mean \"apex_dqn\"?"},
      {folder.File("bin"), folder.File("none.yaml"), folder.File("out2"), 2,
       "none.yaml: cannot open: No such file or directory"},
      {folder.File("none"), folder.File("good.yaml"), folder.File("out3"), 1, "waggle-param-server, which must be"},
      {folder.File("bin"), folder.File("large.yaml"), folder.File("out4"), 1, " MiB of memory are needed, and this "},
      {folder.File("bin"), folder.File("good.yaml"), "/proc/waggle", 1, "/proc/waggle: cannot create the folder: "},
  };
  for (const Case& one : cases) {
    INFO(one.error);
    ChildOptions options;
    options.command = {kBin + "/local_run_probe", one.binaries, one.file, one.output};
    options.log_path = folder.File("log");
    const auto run = ValueOf(ChildProcess::Spawn(options));
    CHECK(testing::WaitForExit(run.get()).code == one.code);
    CHECK(Contents(folder.File("log")).find(one.error) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(one.output));
  }
}

}  // namespace
}  // namespace waggle
