#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// The only user of the logging library (spdlog). One line an event, in UTC, with the process's role. Thread-safe.

namespace waggle {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sets the process's name in each line ("learner", "actor-2") and the lowest level that is written, to standard error.
// Must be called at most once, before the first thread starts. Defaults are "waggle" and info.
void InitLogging(const std::string& role, LogLevel minimum_level);

// Writes one line. Control characters in `message`, line breaks too, are escaped.
void LogMessage(LogLevel level, absl::string_view message);

// Writes one line of level error without allocating or locking, for when memory has run out.
void LogWithoutMemory(const char* message);

// Parts are all that absl::StrCat takes.
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
