#include "common/base/process/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/child_exit.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;
using ::waggle::testing::WaitForExit;

ChildOptions Shell(const std::string& script, const std::string& log) {
  ChildOptions options;
  options.command = {"/bin/sh", "-c", script};
  options.log_path = log;
  return options;
}

TEST_CASE("A child's exit status, memory and output are known", "[unit]") {
  const TemporaryFolder folder;
  const auto child = ValueOf(ChildProcess::Spawn(Shell("echo out; echo err >&2; exit 3", folder.File("log"))));
  const ChildExit exit = WaitForExit(child.get());
  CHECK(exit.code == 3);
  CHECK(exit.signal == 0);
  CHECK_FALSE(exit.ok());
  CHECK(exit.ShellStatus() == 3);
  CHECK(exit.DebugString() == "exited with status 3");
  CHECK(exit.peak_rss_mebibytes > 0.1);
  CHECK(Contents(folder.File("log")) == "out\nerr\n");
}

TEST_CASE("A second child appends to the log of the first", "[unit]") {
  const TemporaryFolder folder;
  for (const char* script : {"echo one", "echo two"}) {
    const auto child = ValueOf(ChildProcess::Spawn(Shell(script, folder.File("log"))));
    CHECK(WaitForExit(child.get()).ok());
  }
  CHECK(Contents(folder.File("log")) == "one\ntwo\n");
}

TEST_CASE("The signal that ends a child is known", "[unit]") {
  const auto child = ValueOf(ChildProcess::Spawn(Shell("kill -9 $$", "/dev/null")));
  const ChildExit exit = WaitForExit(child.get());
  CHECK(exit.signal == SIGKILL);
  CHECK(exit.ShellStatus() == 137);
  CHECK(exit.DebugString() == "was killed by signal 9 (Killed)");
}

TEST_CASE("Set environment variables override the defaults", "[unit]") {
  const TemporaryFolder folder;
  setenv("WAGGLE_TEST_SET", "mine", 1);
  unsetenv("WAGGLE_TEST_UNSET");
  ChildOptions options = Shell("echo $WAGGLE_TEST_SET $WAGGLE_TEST_UNSET", folder.File("log"));
  options.default_environment = {{"WAGGLE_TEST_SET", "default"}, {"WAGGLE_TEST_UNSET", "default"}};
  const auto child = ValueOf(ChildProcess::Spawn(options));
  CHECK(WaitForExit(child.get()).ok());
  CHECK(Contents(folder.File("log")) == "mine default\n");
}

TEST_CASE("A child has a process group of its own, no blocked signals and none of our files", "[unit]") {
  const TemporaryFolder folder;
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto child = ValueOf(ChildProcess::Spawn(
      Shell("grep SigBlk /proc/self/status; ls /proc/$$/fd; cut -d' ' -f5 /proc/$$/stat", folder.File("log"))));
  CHECK(WaitForExit(child.get()).ok());
  sigprocmask(SIG_SETMASK, &before, nullptr);
  const std::string log = Contents(folder.File("log"));
  CHECK(log.find("0000000000000000") != std::string::npos);
  CHECK(log.find("\n0\n1\n2\n" + std::to_string(child->pid()) + "\n") != std::string::npos);
}

TEST_CASE("A program or log that cannot be opened is named", "[unit]") {
  const TemporaryFolder folder;
  ChildOptions options = Shell("", folder.File("log"));
  options.command[0] = "/no/such/program";
  CHECK(ChildProcess::Spawn(options).status() ==
        absl::NotFoundError("cannot start /no/such/program: No such file or directory"));
  CHECK(ChildProcess::Spawn(Shell("", "/no/such/log")).status() ==
        absl::NotFoundError("/no/such/log: cannot open: No such file or directory"));
}

TEST_CASE("A child that ignores SIGTERM is ended by SIGKILL, and by its owner's destruction", "[unit]") {
  const TemporaryFolder folder;
  const std::string fifo = folder.File("fifo");
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const std::string script = "trap '' TERM; echo ready > " + fifo + "; while :; do sleep 1000; done";
  auto child = ValueOf(ChildProcess::Spawn(Shell(script, "/dev/null")));
  std::string line;
  std::getline(std::ifstream(fifo), line);
  child->Signal(SIGTERM);
  CHECK_FALSE(child->Poll().has_value());
  child->Signal(SIGKILL);
  CHECK(WaitForExit(child.get()).signal == SIGKILL);
  child->Signal(SIGKILL);  // Harmless once it has ended.

  child = ValueOf(ChildProcess::Spawn(Shell(script, "/dev/null")));
  std::getline(std::ifstream(fifo), line);
  const pid_t pid = child->pid();
  child = nullptr;
  CHECK(kill(pid, 0) == -1);
}

TEST_CASE("A child dies with a parent that is killed", "[unit]") {
  const TemporaryFolder folder;
  const std::string fifo = folder.File("fifo");
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  ChildOptions options;
  options.command = {std::string(WAGGLE_TEST_BIN_DIR) + "/spawn_probe", fifo, "/bin/sleep", "1000"};
  options.log_path = folder.File("log");
  const auto parent = ValueOf(ChildProcess::Spawn(options));
  pid_t grandchild = 0;
  std::ifstream(fifo) >> grandchild;
  REQUIRE(grandchild > 0);
  const int file = static_cast<int>(syscall(SYS_pidfd_open, grandchild, 0));
  REQUIRE(file >= 0);
  parent->Signal(SIGKILL);
  pollfd death = {file, POLLIN, 0};
  CHECK(poll(&death, 1, 60'000) == 1);
  close(file);
}

}  // namespace
}  // namespace waggle
