#include "common/net/grpc_log.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/version_info.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/log.h"
#include "common/base/steady_now.h"
#include "common/net/security/security.h"

namespace waggle {

void KeepGrpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(kept);
}

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 65

namespace {

LogLevel LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return LogLevel::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_ERROR:
      return LogLevel::kError;
  }
  return LogLevel::kError;
}

// Counts a failed handshake. True if its line should not be logged, because strangers could fill the log.
bool CountHandshake(absl::string_view message) {
  static std::atomic<int64_t> logged{-1};
  if (!absl::StrContains(message, "Handshake failed")) {
    return false;
  }
  ProcessSecurity().mutable_refusals()->Count(SecurityRefusals::kHandshake);
  const int64_t minute = absl::ToInt64Minutes(SteadyElapsed());
  return logged.exchange(minute) == minute;
}

void Take(gpr_log_func_args* line) {
  if (CountHandshake(line->message)) {
    return;
  }
  const absl::string_view path = line->file;
  LogMessage(LevelOf(line->severity),
             absl::StrCat("gRPC: ", path.substr(path.rfind('/') + 1), ":", line->line, ": ", line->message));
}

}  // namespace

void TakeGrpcLog() {
  gpr_set_log_function(&Take);
  // Threads of gRPC outlive main, and the logger.
  static const int at_exit = std::atexit([] { gpr_set_log_function(nullptr); });
  static_cast<void>(at_exit);
}

#else  // From this version on gRPC logs by Abseil, which the program itself sets up.

void TakeGrpcLog() {}

#endif

}  // namespace waggle
