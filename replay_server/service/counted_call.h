#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/guard.h"
#include "common/base/status_macros.h"
#include "common/base/threads/task_queue.h"
#include "common/net/status_convert.h"
#include "common/net/unary_method.h"
#include "replay_server/service/refusals.h"
#include "replay_server/table/table.h"

// Ends all calls of the replay service in one way, so that every refusal is counted.

namespace waggle {

// HOST:PORT; gRPC calls it "ipv4:HOST:PORT" or "ipv6:%5BHOST%5D:PORT".
std::string PeerOf(const grpc::CallbackServerContext& context);

// Returns a function that counts the error that ends a stream of `method`. The refusals must outlive the stream.
std::function<void(const absl::Status&)> CountInto(Refusals* refusals, const char* method,
                                                   const grpc::CallbackServerContext* context);

// Ends a call without a request: the caller gave up before all of it had arrived, or never sent one. The two can only
// be told apart once the call is done. Calls `refused`, which must outlive the call, if the caller did not give up.
template <class Reactor>
class NoRequestReactor final : public Reactor {
 public:
  NoRequestReactor(const grpc::CallbackServerContext* context, std::function<void(const absl::Status&)> refused)
      : context_(context), refused_(std::move(refused)) {
    this->Finish(ToGrpcStatus(Error()));
  }

  void OnDone() override {
    if (!context_->IsCancelled()) {
      refused_(Error());
    }
    delete this;
  }

 private:
  static absl::Status Error() {
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kMalformedMessage, "the call has no complete request");
  }

  const grpc::CallbackServerContext* const context_;
  const std::function<void(const absl::Status&)> refused_;
};

// A unary call. May be copied, but must be ended only once. The refusals must outlive the call.
class CountedCall {
 public:
  CountedCall(grpc::CallbackServerContext* context, const char* method, Refusals* refusals)
      : context_(context), reactor_(context->DefaultReactor()), method_(method), refusals_(refusals) {}

  std::string peer() const { return PeerOf(*context_); }

  // Ends the call.
  void Finish(const absl::Status& status) const;
  // Ends the call with the result of a write to disk. Its errors are the disk's, or those of a stopping server.
  void FinishWritten(const absl::Status& status) const;

  // Decodes the request for `body(const std::shared_ptr<Request>&)`, which ends the call now or later, or returns an
  // error that ends it. Returns the reactor, which the gRPC method must return.
  template <class Request, class Body>
  grpc::ServerUnaryReactor* Begin(const grpc::ByteBuffer& bytes, size_t max_bytes, const Body& body) const {
    if (!bytes.Valid()) {  // There is no request.
      return new NoRequestReactor<grpc::ServerUnaryReactor>(context_, CountInto(refusals_, method_, context_));
    }
    FinishIfFailed(GuardedStatus([&]() -> absl::Status {
      const auto request = std::make_shared<Request>();
      WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, request.get()));
      return body(request);
    }));
    return reactor_;
  }

  // Ends the call with the result of `method(const Request&, Response*)`, which must not block. The result is an
  // absl::Status, or an absl::StatusOr of the table that the method changed. Then the call ends once the change is as
  // safe as the table's durability promises.
  template <class Request, class Response, class Method>
  grpc::ServerUnaryReactor* AnswerNow(const grpc::ByteBuffer& bytes, grpc::ByteBuffer* response, size_t max_bytes,
                                      const Method& method) const {
    return Begin<Request>(bytes, max_bytes, [&](const std::shared_ptr<Request>& request) {
      return Answer<Response>(*request, response, method);
    });
  }

  // The same for a method that may take long. Runs it on the queue that `queue(const Request&)` returns.
  template <class Request, class Response, class WhichQueue, class Method>
  grpc::ServerUnaryReactor* AnswerLater(const WhichQueue& queue, const grpc::ByteBuffer& bytes,
                                        grpc::ByteBuffer* response, size_t max_bytes, const Method& method) const {
    return Begin<Request>(bytes, max_bytes, [&](const std::shared_ptr<Request>& request) {
      return Submit(queue(*request), bytes.Length(), [call = *this, request, response, method] {
        call.FinishIfFailed(GuardedStatus([&] { return call.Answer<Response>(*request, response, method); }));
      });
    });
  }

 private:
  void FinishIfFailed(const absl::Status& status) const {
    if (!status.ok()) {
      Finish(status);
    }
  }
  // `task` holds a request of `bytes` bytes. UNAVAILABLE if the queue is full.
  static absl::Status Submit(TaskQueue* queue, size_t bytes, std::function<void()> task);

  template <class Response, class Request, class Method>
  absl::Status Answer(const Request& request, grpc::ByteBuffer* response, const Method& method) const {
    Response answer;
    const auto result = method(request, &answer);
    if (result.ok()) {
      *response = EncodeMessage(answer, ByteSlices());
    }
    return FinishWith(result);
  }
  // Ends the call, or returns the error that must end it.
  absl::Status FinishWith(const absl::Status& status) const;
  absl::Status FinishWith(const absl::StatusOr<std::shared_ptr<Table>>& changed) const;

  grpc::CallbackServerContext* const context_;
  grpc::ServerUnaryReactor* const reactor_;
  const char* const method_;
  Refusals* const refusals_;
};

}  // namespace waggle
