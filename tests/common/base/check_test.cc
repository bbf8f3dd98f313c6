#include "common/base/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CapturedStream;

TEST_CASE("a check that holds does nothing, and is evaluated once", "[unit]") {
  int looked = 0;
  WAGGLE_CHECK(++looked == 1, "unused");
  CHECK(looked == 1);
}

TEST_CASE("a check that does not hold names its expression and reason, and aborts", "[unit]") {
  CapturedStream captured(STDERR_FILENO);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's handler would go on with the tests.
    WAGGLE_CHECK(1 + 1 == 3, absl::StrCat("the sum is ", 1 + 1));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const std::string text = captured.Finish();
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(absl::StrContains(text, "check_test.cc:"));
  CHECK(absl::StrContains(text, "1 + 1 == 3 does not hold: the sum is 2"));
}

}  // namespace
}  // namespace waggle
