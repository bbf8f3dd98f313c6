#include "common/process/process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Body = std::function<absl::Status(const StopToken& stop)>;

// Runs a body in a process of its own, as signals and exit statuses are a process's. Returns its wait status.
int RunInChild(
    const Body& body, const std::function<void()>& before = [] {}) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    before();
    _exit(RunProcess("test", LogLevel::kError, body));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

int ExitStatus(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("The exit status says whether the body ended well", "[unit]") {
  CHECK(ExitStatus(RunInChild([](const StopToken&) { return absl::OkStatus(); })) == 0);
  CHECK(ExitStatus(RunInChild([](const StopToken&) { return absl::InternalError("x"); })) == 1);
  CHECK(ExitStatus(RunInChild([](const StopToken&) { return absl::CancelledError("without a stop"); })) == 1);
  CHECK(ExitStatus(RunInChild([](const StopToken&) -> absl::Status { throw std::runtime_error("x"); })) == 1);
  CHECK(ExitStatus(RunInChild([](const StopToken&) -> absl::Status { throw 7; })) == 1);
}

TEST_CASE("The first signal asks to stop; a body that was cancelled by it ended well", "[unit]") {
  for (const int number : {SIGINT, SIGTERM}) {
    CHECK(ExitStatus(RunInChild([number](const StopToken& stop) {
            kill(getpid(), number);
            stop.Wait();
            return absl::CancelledError("stopped");
          })) == 0);
    CHECK(ExitStatus(RunInChild([number](const StopToken& stop) {
            kill(getpid(), number);
            stop.Wait();
            return absl::DataLossError("the last checkpoint failed");
          })) == 1);
  }
}

TEST_CASE("A second signal ends the process although a stop callback hangs", "[unit]") {
  const int status = RunInChild([](const StopToken& stop) {
    const StopToken never;
    const StopToken::Callback hanging(stop, [never] {
      kill(getpid(), SIGTERM);
      never.Wait();
    });
    kill(getpid(), SIGINT);
    never.Wait();
    return absl::OkStatus();
  });
  CHECK(ExitStatus(status) == 128 + SIGTERM);
}

TEST_CASE("A peer that goes away does not end the process", "[unit]") {
  CHECK(ExitStatus(RunInChild([](const StopToken&) {
          int ends[2];
          if (pipe(ends) != 0 || close(ends[0]) != 0) {
            return absl::InternalError("no pipe");
          }
          return write(ends[1], "x", 1) < 0 ? absl::OkStatus() : absl::InternalError("was written");
        })) == 0);
}

TEST_CASE("A process ends with its parent where that is asked for", "[unit]") {
  // This process starts a parent; that starts a child, which holds a pipe open for as long as it lives, and is killed.
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t parent = fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    close(ends[0]);
    setenv("WAGGLE_DIE_WITH_PARENT", std::to_string(getpid()).c_str(), 1);
    if (fork() == 0) {
      _exit(RunProcess("child", LogLevel::kError, [&ends](const StopToken& stop) {
        (void)!write(ends[1], "x", 1);  // From here on the kernel has been asked.
        stop.Wait();
        return absl::OkStatus();
      }));
    }
    close(ends[1]);
    pause();
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  REQUIRE(read(ends[0], &byte, 1) == 1);
  kill(parent, SIGKILL);
  CHECK(read(ends[0], &byte, 1) == 0);  // The child is gone too.
  close(ends[0]);
  int status = 0;
  waitpid(parent, &status, 0);
}

TEST_CASE("A parent that is gone already, or no number, is an error", "[unit]") {
  const Body body = [](const StopToken&) { return absl::OkStatus(); };
  CHECK(ExitStatus(RunInChild(body, [] { setenv("WAGGLE_DIE_WITH_PARENT", "999999999", 1); })) == 1);
  CHECK(ExitStatus(RunInChild(body, [] { setenv("WAGGLE_DIE_WITH_PARENT", "yes", 1); })) == 1);
  CHECK(ExitStatus(RunInChild(body, [] { setenv("WAGGLE_DIE_WITH_PARENT", std::to_string(getppid()).c_str(), 1); })) ==
        0);
}

}  // namespace
}  // namespace waggle
