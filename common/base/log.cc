#include "common/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "absl/strings/str_replace.h"

namespace waggle {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void InitLogging(const std::string& role, LogLevel minimum_level) {
  auto logger = std::make_shared<spdlog::logger>(role, std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %n[%P] %v", spdlog::pattern_time_type::utc);
  logger->set_level(ToSpdlog(minimum_level));
  // Every line at once: a killed process must not take its last words with it.
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void LogMessage(LogLevel level, absl::string_view message) {
  spdlog::default_logger_raw()->log(ToSpdlog(level), "{}",
                                    absl::StrReplaceAll(message, {{"\n", "\\n"}, {"\r", "\\r"}}));
}

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name) {
  const std::pair<absl::string_view, LogLevel> levels[] = {{"debug", LogLevel::kDebug},
                                                           {"info", LogLevel::kInfo},
                                                           {"warning", LogLevel::kWarning},
                                                           {"error", LogLevel::kError}};
  for (const auto& [level_name, level] : levels) {
    if (name == level_name) {
      return level;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is not a log level; known: debug, info, warning, error"));
}

}  // namespace waggle
