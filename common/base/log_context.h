#pragma once

#include <string>

#include "absl/strings/string_view.h"

// Facts that lines of the log have beside their message.

namespace waggle {

struct LogContext {
  std::string experiment;  // An experiment's id.
  std::string worker;      // The id of a worker in that experiment.
  std::string trace_id;    // 32 hexadecimal digits: the command or call that this thread works for.
  std::string caller{};    // The name of the caller of that call, if it is known.
};

// Sets the context of this thread's lines, until its end: fields that are empty in `context` stay as they are. Scopes
// of a thread end in the reverse order of their beginnings.
class LogScope {
 public:
  explicit LogScope(LogContext context);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  LogContext before_;
};

// The context of lines of all threads, if their own does not say otherwise. Thread-safe.
void SetProcessLogContext(const LogContext& context);

// The present context of this thread.
LogContext CurrentLogContext();

// The trace of this thread's scopes; empty without one.
std::string ThreadTraceId();

// The caller of this thread's scopes; empty without one.
std::string ThreadCaller();

// A new random trace id.
std::string NewTraceId();
// The header `traceparent` of W3C Trace Context for a call that is a part of the trace.
std::string TraceParent(absl::string_view trace_id);
// The trace id in such a header; empty if the header is malformed.
std::string TraceIdIn(absl::string_view traceparent);

}  // namespace waggle
