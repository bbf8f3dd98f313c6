#include "common/base/log_context.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/threads/mutex.h"

namespace waggle {
namespace {

constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanDigits = 16;

struct ProcessContext {
  Mutex mutex;
  LogContext context ABSL_GUARDED_BY(mutex);
};

// Never destroyed: threads may log while the process ends.
ProcessContext& OfProcess() {
  static auto* const context = new ProcessContext();
  return *context;
}

thread_local LogContext of_thread;

void Replace(const std::string& value, std::string* field) {
  if (!value.empty()) {
    *field = value;
  }
}

void Overlay(const LogContext& upper, LogContext* context) {
  Replace(upper.experiment, &context->experiment);
  Replace(upper.worker, &context->worker);
  Replace(upper.trace_id, &context->trace_id);
  Replace(upper.caller, &context->caller);
}

std::string RandomDigits(size_t digits) {
  std::random_device random;
  std::string text;
  while (text.size() < digits) {
    absl::StrAppend(&text, absl::Hex(static_cast<uint32_t>(random()), absl::kZeroPad8));
  }
  // Zeros alone are invalid.
  return text.find_first_not_of('0') == std::string::npos ? RandomDigits(digits) : text;
}

// Digits of an id: lower case, and not zeros alone.
bool IsId(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }) &&
         text.find_first_not_of('0') != absl::string_view::npos;
}

}  // namespace

LogScope::LogScope(LogContext context) : before_(of_thread) {
  Overlay(context, &of_thread);
}

LogScope::~LogScope() {
  of_thread = std::move(before_);
}

void SetProcessLogContext(const LogContext& context) {
  ProcessContext& process = OfProcess();
  MutexLock lock(&process.mutex);
  process.context = context;
}

LogContext CurrentLogContext() {
  LogContext context;
  {
    ProcessContext& process = OfProcess();
    MutexLock lock(&process.mutex);
    context = process.context;
  }
  Overlay(of_thread, &context);
  return context;
}

std::string ThreadTraceId() {
  return of_thread.trace_id;
}

std::string ThreadCaller() {
  return of_thread.caller;
}

std::string NewTraceId() {
  return RandomDigits(kTraceDigits);
}

std::string TraceParent(absl::string_view trace_id) {
  return absl::StrCat("00-", trace_id, "-", RandomDigits(kSpanDigits), "-01");
}

std::string TraceIdIn(absl::string_view traceparent) {
  // 00-TRACE-SPAN-FLAGS. Later versions may have more at the end.
  if (traceparent.size() < 55 || traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-' ||
      traceparent.substr(0, 2) == "ff" || !IsId(traceparent.substr(36, kSpanDigits))) {
    return "";
  }
  const absl::string_view trace_id = traceparent.substr(3, kTraceDigits);
  return IsId(trace_id) ? std::string(trace_id) : "";
}

}  // namespace waggle
