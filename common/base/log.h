#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// The one door to the logging library (spdlog). One line an event, in UTC, with the process's role; thread-safe.

namespace waggle {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Names the process in each line ("learner", "actor-2") and sets the lowest level that is written. Lines go to the
// standard error stream. Call once, before the first thread starts; without it, the name is "waggle" and the level
// info.
void InitLogging(const std::string& role, LogLevel minimum_level);

// Writes one line; line breaks and other control characters in `message` are escaped, so that an event stays one line.
void LogMessage(LogLevel level, absl::string_view message);

// Writes one line of level error without taking memory, or a lock: for who has none left.
void LogWithoutMemory(const char* message);

// What may be logged: anything that absl::StrCat takes.
template <class... Parts>
void LogDebug(const Parts&... parts) {
  LogMessage(LogLevel::kDebug, absl::StrCat(parts...));
}
template <class... Parts>
void LogInfo(const Parts&... parts) {
  LogMessage(LogLevel::kInfo, absl::StrCat(parts...));
}
template <class... Parts>
void LogWarning(const Parts&... parts) {
  LogMessage(LogLevel::kWarning, absl::StrCat(parts...));
}
template <class... Parts>
void LogError(const Parts&... parts) {
  LogMessage(LogLevel::kError, absl::StrCat(parts...));
}

// Parses "debug", "info", "warning" or "error".
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name);

}  // namespace waggle
