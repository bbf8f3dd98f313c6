#include "tests/support/hang_alarm.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("a hanging process is aborted with the name of its test", "[unit]") {
  CapturedStream captured(STDERR_FILENO);
  const pid_t child = fork();
  if (child == 0) {
    ArmHangAlarm("the child", 1);
    for (;;) {
      pause();
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const std::string text = captured.Finish();
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(absl::StrContains(text, "the child hangs: it has run for more than 1 s"));
}

TEST_CASE("every test case has an alarm, and one that ends in time is not aborted", "[unit]") {
  const unsigned left = alarm(0);
  CHECK(left > 200);
  ArmHangAlarm("this test case", left);
  DisarmHangAlarm();
  CHECK(alarm(0) == 0);
}

}  // namespace
}  // namespace waggle::testing
