#pragma once

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/server.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// A hub and a pool of processes, as an operator starts them, and a user's requests. The test chooses the names of the
// processes.
class Service {
 public:
  // Starts a process; for the hub's address see hub().
  void Start(const std::string& name, std::vector<std::string> command) {
    processes_[name] = std::make_unique<RunningProcess>(folder_, absl::StrCat("log", ++started_), std::move(command));
  }
  void StartHub() {
    Start("hub", {"waggle-param-server", "--listen", hub_, "--data-dir", folder_.File("hub"), "--output-dir",
                  folder_.File("out/{id}")});
  }
  // Starts a replay server that keeps its tables in a folder with its name.
  void StartReplay(const std::string& name) {
    Start(name, {"waggle-replay-server", "--param-server", hub_, "--listen", "127.0.0.1:0", "--data-dir",
                 folder_.File(name)});
  }
  void StartLearner(const std::string& name) {
    Start(name, {"waggle-learner", "--param-server", hub_, "--listen", "127.0.0.1:0"});
  }
  void StartActor(const std::string& name) { Start(name, {"waggle-actor", "--param-server", hub_}); }
  void StartEvaluator(const std::string& name) { Start(name, {"waggle-actor", "--evaluator", "--param-server", hub_}); }
  void StartGradientWorker(const std::string& name) {
    Start(name, {"waggle-param-server", "--role", "reducer", "--param-server", hub_, "--listen", "127.0.0.1:0"});
  }

  RunningProcess* process(const std::string& name) const { return processes_.at(name).get(); }
  void Kill(const std::string& name) {
    process(name)->Signal(SIGKILL);
    process(name)->Wait();
  }
  // Ends a process by SIGTERM, and expects status 0.
  void End(const std::string& name) {
    process(name)->Signal(SIGTERM);
    const ChildExit exit = process(name)->Wait();
    INFO(name << "\n" << process(name)->Log());
    REQUIRE(exit.ok());
  }
  // Ends all of them at once.
  void EndAll() {
    for (const auto& [name, process] : processes_) {
      process->Signal(SIGTERM);
    }
    for (const auto& [name, process] : processes_) {
      const ChildExit exit = process->Wait();
      INFO(name << "\n" << process->Log());
      CHECK(exit.ok());
    }
  }
  // The name of the process with this id.
  std::string NameOf(pid_t pid) const {
    for (const auto& [name, process] : processes_) {
      if (process->pid() == pid) {
        return name;
      }
    }
    return "";
  }

  // The exit status and output of `waggle WORDS`.
  std::pair<int, std::string> Waggle(std::vector<std::string> words) const {
    words.insert(words.begin(), "waggle");
    words.insert(words.end(), {"--param-server", hub_});
    RunningProcess waggle(folder_, absl::StrCat("waggle", ++asked_), std::move(words));
    const int64_t status = waggle.Wait().ShellStatus();
    return {static_cast<int>(status), waggle.Log()};
  }
  // Submits a file with this text, and returns the id.
  std::string Submit(const std::string& yaml, const std::vector<std::string>& more = {}) const {
    const std::string file = folder_.File(absl::StrCat("experiment", ++asked_, ".yaml"));
    std::ofstream(file) << yaml;
    return SubmitFile(file, more);
  }
  std::string SubmitFile(const std::string& file, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"submit", file, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto [status, said] = Waggle(words);
    INFO(said);
    REQUIRE(status == 0);
    // Lines about why it waits surround it.
    const std::string from_id = said.substr(std::min(said.find('{'), said.size()));
    return nlohmann::json::parse(from_id.substr(0, from_id.find('\n'))).at("id");
  }
  // The output of `waggle status ID --json`; null while the hub does not answer.
  nlohmann::json Status(const std::string& id) const {
    const auto [status, said] = Waggle({"status", id, "--json"});
    return status == 0 ? nlohmann::json::parse(said) : nlohmann::json();
  }
  std::string Outcome(const std::string& id) const {
    const nlohmann::json status = Status(id);
    return status.is_null() ? "" : status.at("outcome").get<std::string>();
  }
  void AwaitOutcome(const std::string& id, const std::string& outcome) const {
    Eventually(absl::StrCat(id, " to be ", outcome), [&] { return Outcome(id) == outcome; });
  }
  // The number of processes of a kind ("learner") in the pool.
  int64_t InPool(const std::string& kind) const {
    const auto [status, said] = Waggle({"status", "--json"});
    int64_t count = 0;
    const nlohmann::json pool = status == 0 ? nlohmann::json::parse(said).at("pool") : nlohmann::json::array();
    for (const nlohmann::json& member : pool) {
      count += member.at("kind") == kind ? 1 : 0;
    }
    return count;
  }
  // The test's name for the process that has this role in an experiment; empty if there is none.
  std::string WorkerOf(const std::string& id, const std::string& role) const {
    const nlohmann::json status = Status(id);
    if (!status.is_null() && status.contains("processes")) {
      for (const nlohmann::json& worker : status.at("processes")) {
        if (worker.at("role") == role && worker.at("alive").get<bool>()) {
          return NameOf(worker.at("pid").get<pid_t>());
        }
      }
    }
    return "";
  }

  const std::string& hub() const { return hub_; }
  std::string File(const std::string& name) const { return folder_.File(name); }

 private:
  const TemporaryFolder folder_;
  // A port that was free just now: workers must know it before the hub starts.
  const std::string hub_ = ValueOf(RpcServer::Start("127.0.0.1:0", {}))->address();
  int started_ = 0;
  mutable int asked_ = 0;
  std::map<std::string, std::unique_ptr<RunningProcess>> processes_;
};

}  // namespace waggle::testing
