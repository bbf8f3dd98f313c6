#include "common/base/log_format.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/log_context.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CapturedStream;

// The lines that `write` logs as JSON.
template <class Function>
std::string Logged(const Function& write) {
  CapturedStream captured(STDERR_FILENO);
  SetLogFormat(LogFormat::kJson);
  InitLogging("learner", LogLevel::kInfo);
  write();
  const std::string text = captured.Finish();
  SetLogFormat(LogFormat::kText);
  InitLogging("waggle", LogLevel::kInfo);
  return text;
}

TEST_CASE("a line of JSON has its time, level, role, host, process and message", "[unit]") {
  const std::string text = Logged([] {
    LogDebug("not this");
    LogWarning("step ", 3, " done {} %n");
  });
  std::string shape = text;
  std::replace_if(shape.begin(), shape.end(), absl::ascii_isdigit, '0');
  CAPTURE(text);
  CHECK(absl::StartsWith(
      shape, "{\"time\":\"0000-00-00T00:00:00.000000Z\",\"level\":\"warning\",\"role\":\"learner\",\"host\":\""));
  CHECK(absl::StrContains(text, absl::StrCat(",\"pid\":", getpid(), ",\"message\":\"step 3 done {} %n\"}\n")));
}

TEST_CASE("a line of JSON has the context of its thread", "[unit]") {
  const std::string text = Logged([] {
    const LogScope scope({"exp\"1", "actor-1", "0af7651916cd43dd8448eb211c80319c"});
    LogInfo("a");
  });
  CHECK(absl::StrContains(text,
                          ",\"experiment\":\"exp\\\"1\",\"worker\":\"actor-1\","
                          "\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"message\":\"a\"}\n"));
}

TEST_CASE("a line of text names the trace of its thread", "[unit]") {
  CapturedStream captured(STDERR_FILENO);
  const LogScope scope({"", "", "0af7651916cd43dd8448eb211c80319c"});
  LogWarning("a");
  CHECK(absl::EndsWith(captured.Finish(), "] a (trace 0af7651916cd43dd8448eb211c80319c)\n"));
}

TEST_CASE("every message is one line of valid JSON", "[unit]") {
  const std::string text = Logged([] { LogInfo(std::string("a\"b\\c\nd\r\te\x1b\0\x7f \xc3\xa9 \xff", 18)); });
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(absl::StrContains(text, "\"message\":\"a\\\"b\\\\c\\nd\\r\\te\\u001b\\u0000\\u007f \xc3\xa9 ?\"}"));
}

TEST_CASE("the line of a process without memory is JSON too", "[unit]") {
  const std::string text = Logged([] { LogWithoutMemory("memory has run out"); });
  CHECK(absl::StartsWith(text, "{\"time\":\""));
  CHECK(absl::EndsWith(text, "\"message\":\"memory has run out\"}\n"));
}

}  // namespace
}  // namespace waggle
