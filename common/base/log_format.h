#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/base/log.h"

namespace waggle {

// The form of each line of the log.
enum class LogFormat {
  kText,  // For people: "2026-03-01T10:00:00.123Z info learner[42] message".
  // One JSON object a line, for programs: time, level, role, host, pid and message; experiment, worker and trace_id if
  // the line has them (log_context.h).
  kJson,
};

// How a process logs.
struct LogOptions {
  // Implicit: a level alone is enough.
  LogOptions(LogLevel lowest = LogLevel::kInfo, LogFormat form = LogFormat::kText) : level(lowest), format(form) {}

  LogLevel level;
  LogFormat format;
};

// Sets the form of lines. Call before InitLogging.
void SetLogFormat(LogFormat format);
LogFormat CurrentLogFormat();

// A JSON string, quoted and escaped. Invalid UTF-8 becomes question marks.
std::string JsonQuoted(absl::string_view text);

}  // namespace waggle
