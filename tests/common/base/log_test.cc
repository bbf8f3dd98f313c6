#include "common/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/threads/thread.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CapturedStream;
using testing::ValueOf;

// The log of `write` in a process of the role "learner".
template <class Function>
std::string Logged(LogLevel minimum_level, const Function& write) {
  CapturedStream captured(STDERR_FILENO);
  InitLogging("learner", minimum_level);
  write();
  const std::string text = captured.Finish();
  InitLogging("waggle", LogLevel::kInfo);
  return text;
}

TEST_CASE("a line has its time, level, role and message", "[unit]") {
  const std::string text = Logged(LogLevel::kInfo, [] { LogInfo("step ", 3, " of ", 4.5, " done {} %n"); });
  std::string shape = text;
  std::replace_if(shape.begin(), shape.end(), absl::ascii_isdigit, '0');
  CAPTURE(text);
  CHECK(absl::StartsWith(shape, "0000-00-00T00:00:00.000Z info learner[0"));
  CHECK(absl::EndsWith(text, "] step 3 of 4.5 done {} %n\n"));
}

TEST_CASE("only lines of the lowest level and above are written", "[unit]") {
  const std::string text = Logged(LogLevel::kWarning, [] {
    LogDebug("line 1");
    LogInfo("line 2");
    LogWarning("line 3");
    LogError("line 4");
  });
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(absl::StrContains(text, "warning learner"));
  CHECK(absl::StrContains(text, "line 3\n"));
  CHECK(absl::StrContains(text, "error learner"));
  CHECK(absl::StrContains(text, "line 4\n"));
  CHECK(absl::StrContains(Logged(LogLevel::kDebug, [] { LogDebug("line 1"); }), "line 1"));
}

TEST_CASE("an event is one line and cannot command a terminal", "[unit]") {
  const std::string text =
      Logged(LogLevel::kInfo, [] { LogInfo(std::string("a\nb\r\nc\td\x1b[31m\0\x7f \xc3\xa9", 18)); });
  CHECK(absl::EndsWith(text, "a\\nb\\r\\nc\td\\x1b[31m\\x00\\x7f \xc3\xa9\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("lines of several threads do not mix", "[unit]") {
  const std::string text = Logged(LogLevel::kInfo, [] {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back("logger", [] {
        for (int j = 0; j < 50; ++j) {
          LogInfo("abcdefghijklmnopqrstuvwxyz");
        }
      });
    }
  });
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    CHECK(absl::EndsWith(line, "] abcdefghijklmnopqrstuvwxyz"));
    CHECK(line.size() == text.find('\n'));
  }
  CHECK(std::count(text.begin(), text.end(), '\n') == 200);
}

TEST_CASE("a line that takes no memory looks like all others", "[unit]") {
  const auto shape = [](std::string text) {
    std::replace_if(text.begin(), text.end(), absl::ascii_isdigit, '0');
    return text;
  };
  const std::string usual = Logged(LogLevel::kInfo, [] { LogError("none is left"); });
  CHECK(shape(Logged(LogLevel::kInfo, [] { LogWithoutMemory("none is left"); })) == shape(usual));
  const std::string cut = Logged(LogLevel::kInfo, [] { LogWithoutMemory(std::string(2000, 'x').c_str()); });
  CHECK(absl::EndsWith(cut, "xxx\n"));
}

TEST_CASE("nothing is logged to the standard output stream", "[unit]") {
  CapturedStream output(STDOUT_FILENO);
  const std::string text = Logged(LogLevel::kInfo, [] { LogError("x"); });
  CHECK(output.Finish().empty());
  CHECK_FALSE(text.empty());
}

TEST_CASE("a log level has a name", "[unit]") {
  CHECK(ValueOf(ParseLogLevel("debug")) == LogLevel::kDebug);
  CHECK(ValueOf(ParseLogLevel("info")) == LogLevel::kInfo);
  CHECK(ValueOf(ParseLogLevel("warning")) == LogLevel::kWarning);
  CHECK(ValueOf(ParseLogLevel("error")) == LogLevel::kError);
  const absl::Status status = ParseLogLevel("loud").status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(status.message(), "\"loud\" is not a log level; known: debug, info, warning, error"));
}

}  // namespace
}  // namespace waggle
