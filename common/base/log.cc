#include "common/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/log_context.h"
#include "common/base/log_format.h"

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

const std::string& HostName() {
  static const std::string name = [] {
    char text[HOST_NAME_MAX + 1] = {};
    return std::string(gethostname(text, sizeof(text) - 1) == 0 ? text : "unknown");
  }();
  return name;
}

// The library's own patterns do not escape the message.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    const auto view = [](spdlog::string_view_t text) { return absl::string_view(text.data(), text.size()); };
    const LogContext context = CurrentLogContext();
    std::string line = absl::StrCat(
        "{\"time\":\"", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromChrono(message.time), absl::UTCTimeZone()),
        "\",\"level\":\"", view(spdlog::level::to_string_view(message.level)),
        "\",\"role\":", JsonQuoted(view(message.logger_name)), ",\"host\":", JsonQuoted(HostName()),
        ",\"pid\":", getpid());
    const std::pair<const char*, const std::string*> fields[] = {{"experiment", &context.experiment},
                                                                 {"worker", &context.worker},
                                                                 {"trace_id", &context.trace_id},
                                                                 {"caller", &context.caller}};
    for (const auto& [name, value] : fields) {
      if (!value->empty()) {
        absl::StrAppend(&line, ",\"", name, "\":", JsonQuoted(*value));
      }
    }
    absl::StrAppend(&line, ",\"message\":", JsonQuoted(view(message.payload)), "}\n");
    to.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

std::shared_ptr<spdlog::logger> NewLogger(const std::string& role, LogLevel minimum_level) {
  auto logger = std::make_shared<spdlog::logger>(role, std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  if (CurrentLogFormat() == LogFormat::kJson) {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %n[%P] %v", spdlog::pattern_time_type::utc);
  }
  logger->set_level(ToSpdlog(minimum_level));
  // Flushes each line, so that a killed process's last ones are not lost.
  logger->flush_on(spdlog::level::debug);
  return logger;
}

// The library's default logger would write to standard output, which is for a command's results.
spdlog::logger* Logger() {
  static const bool replaced = [] {
    if (spdlog::default_logger()->name().empty()) {
      spdlog::set_default_logger(NewLogger("waggle", LogLevel::kInfo));
    }
    return true;
  }();
  static_cast<void>(replaced);
  return spdlog::default_logger_raw();
}

// Escapes control characters of peers and files, so that an event is one line and does not affect a terminal.
std::string OneLine(absl::string_view message) {
  std::string line;
  line.reserve(message.size());
  for (const char c : message) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\t' || !absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      line.push_back(c);
    } else {
      absl::StrAppend(&line, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return line;
}

}  // namespace

void InitLogging(const std::string& role, LogLevel minimum_level) {
  spdlog::set_default_logger(NewLogger(role, minimum_level));
}

void LogMessage(LogLevel level, absl::string_view message) {
  if (!Logger()->should_log(ToSpdlog(level))) {
    return;
  }
  if (CurrentLogFormat() == LogFormat::kJson) {
    Logger()->log(ToSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
    return;
  }
  const std::string trace_id = ThreadTraceId();
  Logger()->log(ToSpdlog(level), "{}{}", OneLine(message),
                trace_id.empty() ? std::string() : absl::StrCat(" (trace ", trace_id, ")"));
}

void LogWithoutMemory(const char* message) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  tm utc = {};
  gmtime_r(&now.tv_sec, &utc);
  char line[512];
  const bool json = CurrentLogFormat() == LogFormat::kJson;
  size_t size = strftime(line, sizeof(line), json ? "{\"time\":\"%Y-%m-%dT%H:%M:%S" : "%Y-%m-%dT%H:%M:%S", &utc);
  // Neither the role nor the message, which are this program's own, needs escapes.
  const char* const rest = json ? ".%06ldZ\",\"level\":\"error\",\"role\":\"%.200s\",\"pid\":%d,\"message\":\"%.200s\"}"
                                : ".%03ldZ error %.200s[%d] %.200s";
  const int more = snprintf(line + size, sizeof(line) - size, rest, now.tv_nsec / (json ? 1'000 : 1'000'000),
                            spdlog::default_logger_raw()->name().c_str(), static_cast<int>(getpid()), message);
  size = std::min(size + static_cast<size_t>(std::max(0, more)), sizeof(line) - 1);
  line[size++] = '\n';
  while (write(STDERR_FILENO, line, size) < 0 && errno == EINTR) {
  }
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
