#include "common/net/call_trace.h"

#include <atomic>
#include <cstdint>

#include "common/base/log.h"
#include "common/base/log_context.h"
#include "common/base/steady_now.h"
#include "common/base/utf8.h"

namespace waggle {
namespace {

constexpr char kTraceParent[] = "traceparent";
// Messages may quote the peer's data.
constexpr size_t kMostBytes = 500;

}  // namespace

void AddTrace(grpc::ClientContext* context) {
  if (const std::string trace_id = CurrentLogContext().trace_id; !trace_id.empty()) {
    context->AddMetadata(kTraceParent, TraceParent(trace_id));
  }
}

std::string TraceIdOf(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(kTraceParent);
  return found == metadata.end() ? "" : TraceIdIn(absl::string_view(found->second.data(), found->second.size()));
}

void LogRefusal(const std::string& trace_id, const absl::Status& status, absl::Duration interval) {
  static std::atomic<int64_t> last{0};
  if (trace_id.empty() || status.ok()) {
    return;
  }
  const int64_t now = absl::ToInt64Nanoseconds(SteadyElapsed());
  int64_t before = last;
  if (now - before >= absl::ToInt64Nanoseconds(interval) && last.compare_exchange_strong(before, now)) {
    const LogScope scope({"", "", trace_id});
    LogInfo("refused a call: ", absl::StatusCodeToString(status.code()), ": ",
            Utf8Prefix(status.message(), kMostBytes));
  }
}

}  // namespace waggle
