#pragma once

#include <signal.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/process/child_process.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// A replay server's process with a folder. It is started again and again on one port.
class CrashingServer {
 public:
  CrashingServer(const TemporaryFolder& folder, std::vector<std::string> flags)
      : log_(folder.File("log")), data_dir_(folder.File("data")), flags_(std::move(flags)) {}

  // Returns once it serves, or has ended.
  void Start(const std::string& failpoints = "") {
    ++starts_;
    ChildOptions options;
    options.command = {std::string(WAGGLE_TEST_BIN_DIR) + "/waggle-replay-server", "--data-dir", data_dir_, "--listen",
                       address_.empty() ? "127.0.0.1:0" : address_};
    options.command.insert(options.command.end(), flags_.begin(), flags_.end());
    options.log_path = log_ + std::to_string(starts_);
    options.default_environment = {{"WAGGLE_FAILPOINTS", failpoints}};
    child_ = ValueOf(ChildProcess::Spawn(options));
    Eventually("a server that serves", [this] { return ended() || absl::StrContains(Log(), kServing); });
    if (address_.empty()) {
      const std::string log = Log();
      const size_t at = log.find(kServing);
      REQUIRE(at != std::string::npos);
      address_ = log.substr(at + sizeof(kServing) - 1, log.find('\n', at) - at - sizeof(kServing) + 1);
    }
  }

  void Kill() {
    child_->Signal(SIGKILL);
    Wait();
  }
  // Asks it to end, and expects no error.
  void Stop() {
    child_->Signal(SIGTERM);
    Wait();
    INFO(Log());
    REQUIRE(child_->Poll()->ok());
  }
  ChildExit Wait() {
    Eventually("the server's end", [this] { return ended(); });
    return *child_->Poll();
  }
  bool ended() { return child_->Poll().has_value(); }
  pid_t pid() const { return child_->pid(); }
  const std::string& address() const { return address_; }
  const std::string& data_dir() const { return data_dir_; }

  // The log since the last start.
  std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(log_ + std::to_string(starts_)).rdbuf();
    return text.str();
  }

 private:
  static constexpr char kServing[] = "serving replay on ";

  const std::string log_;
  const std::string data_dir_;
  const std::vector<std::string> flags_;
  std::string address_;
  int starts_ = 0;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace waggle::testing
