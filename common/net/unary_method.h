#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/base/guard.h"
#include "common/base/log_context.h"
#include "common/base/status_macros.h"
#include "common/base/threads/executor.h"
#include "common/net/call_trace.h"
#include "common/net/raw_codec.h"
#include "common/net/security/security.h"
#include "common/net/status_convert.h"

namespace waggle {

// The largest ordinary unary request. Generated code would parse messages up to kMaxMessageBytes before our checks,
// into gigabytes: an empty submessage has two bytes on the wire and eighty in memory.
inline constexpr size_t kMaxUnaryBytes = size_t{1} << 20;

// RESOURCE_EXHAUSTED for too many bytes, INVALID_ARGUMENT for bytes of another message.
inline absl::Status DecodeRequest(const grpc::ByteBuffer& bytes, size_t max_bytes,
                                  google::protobuf::MessageLite* request) {
  ByteSlices ignored;  // Like any field that a message does not have.
  return DecodeMessage(bytes, max_bytes, request, &ignored);
}

inline grpc::ServerUnaryReactor* FinishUnary(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Answers a raw unary call by `method(const Request&, Response*)`, which returns a status and must not block:
//
//   return AnswerUnary<v1::DeleteRequest, v1::DeleteResponse>(context, *bytes, response, kMaxUnaryBytes,
//                                                            [this](const auto& request, auto* answer) { … });
template <class Request, class Response, class Method>
grpc::ServerUnaryReactor* AnswerUnary(grpc::CallbackServerContext* context, const grpc::ByteBuffer& bytes,
                                      grpc::ByteBuffer* response, size_t max_bytes, const Method& method) {
  const std::string trace_id = TraceIdOf(*context);
  const LogScope scope({"", "", trace_id});
  const absl::Status status = GuardedStatus([&]() -> absl::Status {
    Request request;
    WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, &request));
    Response answer;
    WAGGLE_RETURN_IF_ERROR(method(static_cast<const Request&>(request), &answer));
    *response = EncodeMessage(answer, ByteSlices());
    return absl::OkStatus();
  });
  LogRefusal(trace_id, status);
  return FinishUnary(context, status);
}

// Answers by a method that may block, in a thread of `executor`. UNAVAILABLE if too many calls wait for one.
template <class Request, class Response, class Method>
grpc::ServerUnaryReactor* AnswerLater(Executor* executor, grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer& bytes, grpc::ByteBuffer* response, size_t max_bytes,
                                      Method method) {
  auto request = std::make_shared<Request>();
  if (absl::Status status = DecodeRequest(bytes, max_bytes, request.get()); !status.ok()) {
    return FinishUnary(context, status);
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const std::string trace_id = TraceIdOf(*context);
  const std::string caller = ProcessSecurity().CallerOf(*context).name;
  const absl::Status queued =
      executor->Submit([request, response, reactor, trace_id, caller, method = std::move(method)] {
        const LogScope scope({"", "", trace_id, caller});
        Response answer;
        const absl::Status status = GuardedStatus([&] { return method(*request, &answer); });
        LogRefusal(trace_id, status);
        *response = EncodeMessage(answer, ByteSlices());
        reactor->Finish(ToGrpcStatus(status));
      });
  if (!queued.ok()) {
    reactor->Finish(ToGrpcStatus(absl::UnavailableError("this server is busy with too many other calls")));
  }
  return reactor;
}

}  // namespace waggle
