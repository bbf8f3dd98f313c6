#include "cli/status/top.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/threads/thread.h"
#include "tests/cli/fake_services.h"
#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// A pair of a terminal and the side that a person sees and types at.
class TestTerminal {
 public:
  TestTerminal() : person_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(person_ >= 0);
    REQUIRE(grantpt(person_) == 0);
    REQUIRE(unlockpt(person_) == 0);
    terminal_ = open(ptsname(person_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(terminal_ >= 0);
    const winsize size = {24, 100, 0, 0};
    REQUIRE(ioctl(terminal_, TIOCSWINSZ, &size) == 0);
  }
  ~TestTerminal() {
    close(person_);
    close(terminal_);
  }
  TestTerminal(const TestTerminal&) = delete;
  TestTerminal& operator=(const TestTerminal&) = delete;

  int terminal() const { return terminal_; }
  void Type(char key) { REQUIRE(write(person_, &key, 1) == 1); }
  // Reads until this text has been drawn.
  void AwaitText(const std::string& text) {
    char buffer[4096];
    while (seen_.find(text) == std::string::npos) {
      pollfd ready = {person_, POLLIN, 0};
      REQUIRE(poll(&ready, 1, 60'000) == 1);
      const ssize_t size = read(person_, buffer, sizeof(buffer));
      REQUIRE(size > 0);
      seen_.append(buffer, static_cast<size_t>(size));
    }
    seen_.erase(0, seen_.find(text) + text.size());
  }

 private:
  const int person_;
  int terminal_ = -1;
  std::string seen_;
};

TEST_CASE("on a terminal the screen is drawn again until q is pressed", "[grpc]") {
  FakeServices hub;
  hub.workers.overview = SampleOverview();
  TestTerminal terminal;
  TopFlags flags;
  flags.param_server = hub.address();
  flags.period_seconds = 0.01;
  absl::Status done = absl::UnknownError("");
  Thread top("top", [&] { done = RunTop(flags, StopToken(), terminal.terminal(), terminal.terminal()); });
  for (int i = 0; i < 3; ++i) {
    terminal.AwaitText("pole-x7k2q");
    terminal.AwaitText("learner ");
  }
  terminal.Type('m');
  terminal.AwaitText("pole-x7k2q");
  terminal.Type('q');
  terminal.AwaitText("\x1b[?1049l");  // The terminal is as before.
  top.Join();
  CHECK(done.ok());
}

TEST_CASE("a stop ends the screen", "[grpc]") {
  FakeServices hub;
  TestTerminal terminal;
  TopFlags flags;
  flags.param_server = hub.address();
  flags.period_seconds = 3600;
  const StopToken stop;
  absl::Status done = absl::UnknownError("");
  Thread top("top", [&] { done = RunTop(flags, stop, terminal.terminal(), terminal.terminal()); });
  terminal.AwaitText("pole-x7k2q");
  stop.RequestStop();
  top.Join();
  CHECK(done.ok());
}

TEST_CASE("without a terminal the screen is printed once", "[grpc]") {
  FakeServices hub;
  hub.workers.overview = SampleOverview();
  int pipe_ends[2];
  REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
  TopFlags flags;
  flags.param_server = hub.address();
  REQUIRE_OK(RunTop(flags, StopToken(), pipe_ends[0], pipe_ends[1]));
  close(pipe_ends[1]);
  std::string text(64 << 10, '\0');
  text.resize(static_cast<size_t>(read(pipe_ends[0], text.data(), text.size())));
  close(pipe_ends[0]);
  CHECK_THAT(text, Catch::Contains("pole-x7k2q") && Catch::Contains("actor-1") && !Catch::Contains("\x1b"));
}

TEST_CASE("a hub that does not answer is an error", "[grpc]") {
  TopFlags flags;
  flags.param_server = "127.0.0.1:1";
  CHECK(absl::IsUnavailable(RunTop(flags, StopToken(), -1, -1)));
}

}  // namespace
}  // namespace waggle::testing
