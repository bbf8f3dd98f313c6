// `waggle run` with environments in Python.

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr char kPython[] = WAGGLE_GYMNASIUM_PYTHON;
constexpr char kConfig[] = "gymnasium_cartpole_ppo";

std::vector<std::string> With(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--set", absl::StrCat("environment.python=", kPython)});
  return arguments;
}

pid_t ParentOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "PPid:")) {
      return static_cast<pid_t>(std::stol(line.substr(5)));
    }
  }
  return 0;
}

// The environment processes among a process's descendants.
std::vector<pid_t> EnvironmentProcesses(pid_t of) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        absl::StrContains(Contents(entry.path() / "cmdline"), "share/waggle/environment")) {
      pid_t ancestor = static_cast<pid_t>(std::stol(name));
      while (ancestor > 1 && ancestor != of) {
        ancestor = ParentOf(ancestor);
      }
      if (ancestor == of) {
        found.push_back(static_cast<pid_t>(std::stol(name)));
      }
    }
  }
  return found;
}

bool AnyRuns(const std::vector<pid_t>& processes) {
  for (const pid_t pid : processes) {
    // A process that has ended but was not waited for has no command line.
    if (!Contents(absl::StrCat("/proc/", pid, "/cmdline")).empty()) {
      return true;
    }
  }
  return false;
}

TEST_CASE("a run trains on an environment of Gymnasium, and leaves no Python process behind", "[e2e]") {
  TrainingRun run(With({"--set", "stop.max_env_steps=6000", "--set", "stop.target_return=null"}), false, kConfig);
  run.WaitForEnvSteps(500);
  const std::vector<pid_t> pythons = EnvironmentProcesses(run.process()->pid());
  CHECK(pythons.size() == 2);  // The actor's and the evaluator's.
  const nlohmann::json summary = run.WaitForSuccess();
  CHECK(summary.at("environment") == "CartPole-v1");
  CHECK(summary.at("result").at("mean_return").get<double>() > 5);
  CHECK_FALSE(AnyRuns(pythons));
}

TEST_CASE("an environment process that is killed restarts, and the run goes on", "[e2e]") {
  TrainingRun run(With({"--set", "stop.max_env_steps=20000", "--set", "stop.target_return=null"}), false, kConfig);
  run.WaitForEnvSteps(500);
  for (const pid_t python : EnvironmentProcesses(run.process()->pid())) {
    kill(python, SIGKILL);
  }
  CHECK(run.WaitForSuccess().at("env_steps").get<int64_t>() >= 20'000);
  CHECK_THAT(Contents(run.File("logs/actor-0.log")), Catch::Contains("starting it again"));
}

TEST_CASE("a run that is killed leaves no environment process behind", "[e2e]") {
  TrainingRun run(With({}), false, kConfig);
  run.WaitForEnvSteps(500);
  const std::vector<pid_t> pythons = EnvironmentProcesses(run.process()->pid());
  REQUIRE_FALSE(pythons.empty());
  run.process()->Signal(SIGKILL);
  run.Wait();
  Eventually("every environment process has ended", [&pythons] { return !AnyRuns(pythons); });
}

// `waggle check` on the experiment with these values: success, and the output.
std::pair<bool, std::string> Check(const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  std::vector<std::string> command = {"waggle", "check", absl::StrCat(WAGGLE_TEST_CONFIG_DIR, "/", kConfig, ".yaml")};
  for (const std::string& setting : settings) {
    command.insert(command.end(), {"--set", "environment." + setting});
  }
  RunningProcess process(folder, "log", With(command));
  const bool ok = process.Wait().ok();
  return {ok, process.Log()};
}

TEST_CASE("an environment that cannot be opened is reported in one line before anything starts", "[e2e]") {
  const std::pair<const char*, const char*> cases[] = {
      {"gymnasium.id=NoSuchThing-v0", "environment.gymnasium.id"},
      {"gymnasium.id=no_such_module:Thing", "no_such_module"},
      {"gymnasium.kwargs={no_such: 1}", "environment.gymnasium.kwargs"},
      {"gymnasium.wrappers=[NoSuchWrapper]", "environment.gymnasium.wrappers"}};
  for (const auto& [setting, says] : cases) {
    const auto [ok, log] = Check({setting});
    CHECK_FALSE(ok);
    CHECK_THAT(log, Catch::Contains(says));
    CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  }
  // Lanes of a vector environment are stepped one by one if a transform ends their episodes.
  const auto [ok, log] = Check({"transforms=[{time_limit: {steps: 3}}]"});
  INFO(log);
  CHECK(ok);
}

// The first code block of this kind on a page.
std::string FirstBlock(const std::string& page, const std::string& kind) {
  const std::string begin = absl::StrCat("```", kind, "\n");
  const size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  return page.substr(from + begin.size(), page.find("```\n", from + begin.size()) - from - begin.size());
}

TEST_CASE("the class and the file on README's first page make a run that is solved", "[e2e]") {
  const TemporaryFolder folder;
  const std::string page = Contents(WAGGLE_README);
  std::ofstream(folder.File("my_game.py")) << FirstBlock(page, "python");
  std::ofstream(folder.File("corridor.yaml")) << FirstBlock(page, "yaml");
  setenv("PYTHONPATH", folder.path().c_str(), 1);
  RunningProcess process(
      folder, "log",
      With({"waggle", "run", folder.File("corridor.yaml"), "--output-dir", folder.File("out"), "--no-plot"}));
  const ChildExit exit = process.Wait();
  INFO(process.Log());
  CHECK(exit.ok());
  CHECK_THAT(Contents(folder.File("out/summary.json")), Catch::Contains("\"outcome\": \"solved\""));
}

TEST_CASE("check reports an environment's mistake at once, with its name", "[e2e]") {
  setenv("PYTHONPATH", WAGGLE_TEST_ENVIRONMENTS, 1);
  const std::map<std::string, std::string> faults = {
      {"reward", "reward: got nan; wanted a finite number"},
      {"choice", "observation/gear: got 9; wanted an integer in [0, 3]"},
      {"number", "observation/place[1]: got inf; wanted a finite number"},
      {"shape", "observation/place: got an array of shape [3]; wanted [2]"},
      {"exception", "ValueError: the clutch slips"},
      {"exit", "its process exited with status 7"},
      {"print", "a banner"},
      {"child", "its process exited with status 7"},
      {"bounds", "observation/place[0]: got 5; wanted a number in [-1, 1]"},
  };
  for (const auto& [fault, told] : faults) {
    INFO(fault);
    const auto [ok, log] = Check({"gymnasium.id=faulty:Faulty", absl::StrCat("gymnasium.kwargs={fault: ", fault, "}")});
    CHECK(ok == (fault == "print" || fault == "bounds"));
    Eventually("no child of the environment is left",
               [] { return std::system("pgrep -f '[s]leep 4711[0-9]' >/dev/null") != 0; });
    CHECK_THAT(log, Catch::Contains(told) && !Catch::Contains("starting it again"));
  }
}

TEST_CASE("an environment of Gymnasium is filmed, or the error names what is missing", "[e2e]") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("x.yaml")) << "environment: {gymnasium: {id: CartPole-v1}, python: " << kPython
                                       << "}\nalgorithm: {name: ppo}\nstop: {max_seconds: 1}\n";
  RunningProcess process(
      folder, "log",
      {"waggle", "play", folder.File("x.yaml"), "--random", "--episodes", "2", "--video", folder.File("films")});
  const int status = process.Wait().ShellStatus();
  const std::string log = process.Log();
  INFO(log);
  if (status == 0) {
    CHECK(std::filesystem::file_size(folder.File("films/episode-0.mp4")) > 0);
    CHECK_FALSE(std::filesystem::exists(folder.File("films/episode-1.mp4")));
  } else {
    CHECK(status == 2);
    CHECK_THAT(log, Catch::StartsWith("waggle play: ") && Catch::Contains("--video: ") && Catch::Contains("oviePy"));
    CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  }
}

}  // namespace
}  // namespace waggle::testing
