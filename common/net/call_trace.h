#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

// The trace of a call, in its metadata "traceparent" (W3C Trace Context): the lines that a server logs for the call,
// and the events of experiments that it causes, name the trace of the command that made it.

namespace waggle {

// Gives the call this thread's trace, if it has one: see LogContext.
void AddTrace(grpc::ClientContext* context);

// The call's trace id; empty if it has none.
std::string TraceIdOf(const grpc::ServerContextBase& context);

// Logs the error that ends a call with a trace. Does nothing for OK or without a trace. The lines of a process are at
// least `interval` apart; further ones are left out.
void LogRefusal(const std::string& trace_id, const absl::Status& status,
                absl::Duration interval = absl::Milliseconds(200));

}  // namespace waggle
