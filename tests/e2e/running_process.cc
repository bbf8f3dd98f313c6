#include "tests/e2e/running_process.h"

#include <signal.h>

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "common/base/threads/stop_token.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"

namespace waggle::testing {

void Eventually(const std::string& what, const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + absl::Minutes(5);
  const StopToken pause;
  while (!condition()) {
    INFO(what);
    REQUIRE(absl::Now() < deadline);
    pause.WaitFor(absl::Milliseconds(50));
  }
}

RunningProcess::RunningProcess(const TemporaryFolder& folder, const std::string& log, std::vector<std::string> command)
    : name_(command[0]), log_path_(folder.File(log)) {
  ChildOptions options;
  options.command = std::move(command);
  options.command[0] = std::string(WAGGLE_TEST_BIN_DIR) + "/" + name_;
  options.log_path = log_path_;
  options.default_environment = {{"OMP_NUM_THREADS", "1"}};
  child_ = ValueOf(ChildProcess::Spawn(options));
}

ChildExit RunningProcess::Wait() {
  Eventually("the end of " + name_, [this] { return child_->Poll().has_value(); });
  return *child_->Poll();
}

std::string RunningProcess::Log() const {
  return Contents(log_path_);
}

TrainingRun::TrainingRun(std::vector<std::string> arguments, bool plot, const std::string& config) {
  // The shipped limit on seconds assumes an idle machine.
  std::vector<std::string> command = {"waggle",
                                      "run",
                                      std::string(WAGGLE_TEST_CONFIG_DIR) + "/" + config + ".yaml",
                                      "--output-dir",
                                      folder_.File("out"),
                                      "--set",
                                      "stop.max_seconds=280"};
  if (!plot) {
    command.emplace_back("--no-plot");
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  process_ = std::make_unique<RunningProcess>(folder_, "log", std::move(command));
}

nlohmann::json TrainingRun::Summary() const {
  return nlohmann::json::parse(Contents(File("summary.json")));
}

nlohmann::json TrainingRun::WaitForSuccess(const std::string& outcome) {
  const ChildExit exit = Wait();
  INFO(process_->Log());
  REQUIRE(exit.ok());
  nlohmann::json summary = Summary();
  REQUIRE(summary.at("outcome") == outcome);
  return summary;
}

nlohmann::json TrainingRun::Status() const {
  if (!std::filesystem::exists(File("hub/address"))) {
    return nullptr;
  }
  std::string address = Contents(File("hub/address"));
  while (!address.empty() && address.back() == '\n') {
    address.pop_back();
  }
  const auto ask = [this, &address](std::vector<std::string> words) -> nlohmann::json {
    std::filesystem::remove(folder_.File("answer"));
    words.insert(words.begin(), "waggle");
    words.insert(words.end(), {"--json", "--param-server", address});
    RunningProcess asked(folder_, "answer", std::move(words));
    return asked.Wait().ok() ? nlohmann::json::parse(asked.Log()) : nlohmann::json();
  };
  const nlohmann::json list = ask({"list"});
  if (list.is_null() || list.at("experiments").empty()) {
    return nullptr;
  }
  return ask({"status", list.at("experiments")[0].at("id").get<std::string>()});
}

void TrainingRun::WaitForEnvSteps(double steps) const {
  Eventually("environment steps", [this, steps] {
    const nlohmann::json status = Status();
    return !status.is_null() && status.at("env_steps").get<double>() >= steps;
  });
}

pid_t TrainingRun::PidOf(const std::string& role) const {
  const nlohmann::json status = Status();
  if (!status.is_null()) {
    for (const char* const key : {"name", "role"}) {
      for (const nlohmann::json& process : status.at("processes")) {
        if (process.at(key) == role && process.at("alive").get<bool>()) {
          return process.at("pid").get<pid_t>();
        }
      }
    }
  }
  return -1;
}

pid_t TrainingRun::Kill(const std::string& role) const {
  pid_t victim = -1;
  Eventually(role, [&] { return (victim = PidOf(role)) > 0; });
  REQUIRE(kill(victim, SIGKILL) == 0);
  return victim;
}

void TrainingRun::KillAndAwaitAnother(const std::string& role) const {
  const pid_t killed = Kill(role);
  Eventually("another process in the place of " + role, [&] {
    const pid_t now = PidOf(role);
    return now > 0 && now != killed;
  });
}

void TrainingRun::Pause(const std::string& role) const {
  pid_t pid = -1;
  Eventually(role, [&] { return (pid = PidOf(role)) > 0; });
  REQUIRE(kill(pid, SIGSTOP) == 0);
  StopToken().WaitFor(absl::Seconds(5));  // The fault itself.
  REQUIRE(kill(pid, SIGCONT) == 0);
}

std::set<std::string> TrainingRun::KilledRoles() const {
  std::set<std::string> roles;
  const nlohmann::json summary = Summary();
  for (const nlohmann::json& process : summary.at("processes")) {
    if (process.at("exit") == 128 + SIGKILL) {
      roles.insert(process.at("role").get<std::string>());
    }
  }
  return roles;
}

std::vector<pid_t> TrainingRun::Processes() const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) {
      continue;
    }
    const std::string command = Contents(entry.path() / "cmdline");
    // The servers' command lines have the folder, the workers' the hub's address.
    const std::string address = std::filesystem::exists(File("hub/address")) ? Contents(File("hub/address")) : "";
    const bool ours = absl::StrContains(command, folder_.path()) ||
                      (!address.empty() && absl::StrContains(command, address.substr(0, address.find('\n'))));
    if (ours && absl::StrContains(command, "waggle-")) {
      found.push_back(pid);
    }
  }
  return found;
}

}  // namespace waggle::testing
