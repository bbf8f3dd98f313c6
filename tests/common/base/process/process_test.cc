#include "common/base/process/process.h"

#include <grpc/grpc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Body = std::function<absl::Status(const StopToken& stop)>;

// Runs a body in its own process, because signals and exit statuses are a process's. Returns its wait status.
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

TEST_CASE("A process may open as many files as its hard limit allows", "[unit]") {
  CHECK(ExitStatus(RunInChild(
            [](const StopToken&) -> absl::Status {
              rlimit limit;
              getrlimit(RLIMIT_NOFILE, &limit);
              return limit.rlim_cur == limit.rlim_max ? absl::OkStatus() : absl::InternalError("not raised");
            },
            [] {
              rlimit limit;
              getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_cur = 64;
              setrlimit(RLIMIT_NOFILE, &limit);
            })) == 0);
}

#if !defined(__SANITIZE_ADDRESS__)  // It needs terabytes of memory, and a pipe for each check of a class's type.
// Returns the exit status and the standard error stream of RunInChild.
std::pair<int, std::string> RunAndHear(const Body& body, const std::function<void()>& before) {
  int fds[2];
  REQUIRE(pipe(fds) == 0);
  const int status = RunInChild(body, [&] {
    dup2(fds[1], STDERR_FILENO);
    before();
  });
  close(fds[1]);
  std::string said(4096, '\0');
  said.resize(static_cast<size_t>(std::max<ssize_t>(0, read(fds[0], said.data(), said.size()))));
  close(fds[0]);
  return {status, said};
}

TEST_CASE("A process with too few descriptors or too little memory ends with the limit in its log", "[unit]") {
  const auto log_within = [](int resource, rlim_t most) {
    const auto [status, log] = RunAndHear([](const StopToken&) { return absl::OkStatus(); },
                                          [resource, most] {
                                            const rlimit limit = {most, most};
                                            setrlimit(resource, &limit);
                                          });
    CHECK(ExitStatus(status) == 1);
    return log;
  };
  for (const rlim_t files : {rlim_t{8}, rlim_t{16}, rlim_t{32}}) {
    CHECK_THAT(log_within(RLIMIT_NOFILE, files), Catch::Contains("ulimit -n"));
  }
  CHECK_THAT(log_within(RLIMIT_AS, rlim_t{512} << 20), Catch::Contains("ulimit -v"));
}

#if !defined(__SANITIZE_THREAD__)  // It ends the process in its own way.
TEST_CASE("A process whose memory runs out logs one line and aborts", "[unit]") {
  const auto [status, said] = RunAndHear(
      [](const StopToken&) {
        volatile size_t bytes = size_t{1} << 60;
        ::operator delete(::operator new(bytes));
        return absl::OkStatus();
      },
      [] { signal(SIGABRT, SIG_DFL); });  // Removes Catch's handler.
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK_THAT(said, Catch::Matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z error test\\[\\d+\\] .*\n"));
}
#endif
#endif

TEST_CASE("The end of the last server or channel does not shut gRPC down, which would wait for its threads", "[unit]") {
  CHECK(ExitStatus(RunInChild([](const StopToken&) {
          grpc_init();
          grpc_shutdown();
          return grpc_is_initialized() != 0 ? absl::OkStatus() : absl::InternalError("gRPC was shut down");
        })) == 0);
}

TEST_CASE("The first signal asks to stop; a body that was cancelled by it ended well", "[unit]") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
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

TEST_CASE("The end of the terminal does not end a process that ignores it", "[unit]") {
  CHECK(ExitStatus(RunInChild(
            [](const StopToken& stop) {
              const StopToken never;
              const StopToken::Callback hanging(stop, [never] { never.Wait(); });
              kill(getpid(), SIGHUP);
              if (stop.StopRequested()) {
                return absl::InternalError("stopped");
              }
              kill(getpid(), SIGTERM);  // The first to stop it; after another one it would end at once.
              stop.Wait();
              _exit(0);
            },
            [] { signal(SIGHUP, SIG_IGN); })) == 0);
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

TEST_CASE("A file that may not grow any further does not end the process", "[unit]") {
  CHECK(ExitStatus(RunInChild([](const StopToken&) {
          const rlimit none = {0, RLIM_INFINITY};
          std::FILE* const file = std::tmpfile();
          if (file == nullptr || setrlimit(RLIMIT_FSIZE, &none) != 0) {
            return absl::InternalError("no file, or no limit");
          }
          const bool written = write(fileno(file), "x", 1) == 1;
          std::fclose(file);
          return written ? absl::InternalError("was written") : absl::OkStatus();
        })) == 0);
}

}  // namespace
}  // namespace waggle
