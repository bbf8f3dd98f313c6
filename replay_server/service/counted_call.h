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
#include "common/base/task_queue.h"
#include "common/rpc/status_convert.h"
#include "common/rpc/unary_method.h"
#include "replay_server/service/refusals.h"
#include "replay_server/table/table.h"

// How the replay service ends its calls: in one way only, so that nothing is refused and not counted.

namespace waggle {

// HOST:PORT, of what gRPC calls "ipv4:HOST:PORT" or "ipv6:%5BHOST%5D:PORT".
std::string PeerOf(const grpc::CallbackServerContext& context);

// For a stream of `method`: counts the error that this server ends it with. The refusals outlive the stream.
std::function<void(const absl::Status&)> CountInto(Refusals* refusals, const char* method,
                                                   const grpc::CallbackServerContext* context);

// Ends a call that came without its request: the caller gave up before all of it was here, or never sent one. Which of
// the two is known only when the call is done, and only the second is counted: by `refused`, which outlives the call.
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
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kMalformedMessage, "the call brought no whole request");
  }

  const grpc::CallbackServerContext* const context_;
  const std::function<void(const absl::Status&)> refused_;
};

// A unary call. May be copied to whoever is to end it, which is done once. The refusals outlive the call.
class CountedCall {
 public:
  CountedCall(grpc::CallbackServerContext* context, const char* method, Refusals* refusals)
      : context_(context), reactor_(context->DefaultReactor()), method_(method), refusals_(refusals) {}

  grpc::ServerUnaryReactor* reactor() const { return reactor_; }
  std::string peer() const { return PeerOf(*context_); }

  // Ends the call; it returns what the method returns to gRPC.
  grpc::ServerUnaryReactor* Finish(const absl::Status& status) const;
  // The same with what came of writing something down, which has an error where the disk has, or we are stopping.
  grpc::ServerUnaryReactor* FinishWritten(const absl::Status& status) const;
  // The same for a call without a request, which gRPC hands over as bytes that are not Valid.
  grpc::ServerUnaryReactor* FinishWithoutRequest() const {
    return new NoRequestReactor<grpc::ServerUnaryReactor>(context_, CountInto(refusals_, method_, context_));
  }
  // Once the table has done what its durability asks for.
  void FinishAfterCommit(const std::shared_ptr<Table>& table) const;

  // Ends with what `method(const Request&, Response*)` returns, which does not block.
  template <class Request, class Response, class Method>
  grpc::ServerUnaryReactor* AnswerNow(const grpc::ByteBuffer& bytes, grpc::ByteBuffer* response, size_t max_bytes,
                                      const Method& method) const {
    if (!bytes.Valid()) {
      return FinishWithoutRequest();
    }
    return Finish(GuardedStatus([&]() -> absl::Status {
      Request request;
      WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, &request));
      Response answer;
      WAGGLE_RETURN_IF_ERROR(method(static_cast<const Request&>(request), &answer));
      *response = EncodeMessage(answer, ByteSlices());
      return absl::OkStatus();
    }));
  }

  // The same for a method that may take long: by a task of the queue that `queue(const Request&)` names.
  template <class Request, class Response, class WhichQueue, class Method>
  grpc::ServerUnaryReactor* AnswerLater(const WhichQueue& queue, const grpc::ByteBuffer& bytes,
                                        grpc::ByteBuffer* response, size_t max_bytes, Method method) const {
    if (!bytes.Valid()) {
      return FinishWithoutRequest();
    }
    return FinishUnlessBegun(GuardedStatus([&]() -> absl::Status {
      const auto request = std::make_shared<Request>();
      WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, request.get()));
      return Submit(queue(static_cast<const Request&>(*request)), bytes.Length(),
                    [call = *this, request, response, method = std::move(method)] {
                      call.Finish(GuardedStatus([&]() -> absl::Status {
                        Response answer;
                        WAGGLE_RETURN_IF_ERROR(method(static_cast<const Request&>(*request), &answer));
                        *response = EncodeMessage(answer, ByteSlices());
                        return absl::OkStatus();
                      }));
                    });
    }));
  }

  // The same for a method that changes a table and returns it: ends with its error, or as FinishAfterCommit.
  template <class Request, class Response, class Method>
  grpc::ServerUnaryReactor* ChangeNow(const grpc::ByteBuffer& bytes, grpc::ByteBuffer* response, size_t max_bytes,
                                      const Method& method) const {
    if (!bytes.Valid()) {
      return FinishWithoutRequest();
    }
    return FinishUnlessBegun(GuardedStatus([&]() -> absl::Status {
      Request request;
      WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, &request));
      return Change<Response>(request, response, method);
    }));
  }
  template <class Request, class Response, class Method>
  grpc::ServerUnaryReactor* ChangeLater(TaskQueue* queue, const grpc::ByteBuffer& bytes, grpc::ByteBuffer* response,
                                        size_t max_bytes, Method method) const {
    if (!bytes.Valid()) {
      return FinishWithoutRequest();
    }
    return FinishUnlessBegun(GuardedStatus([&]() -> absl::Status {
      const auto request = std::make_shared<Request>();
      WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, request.get()));
      return Submit(queue, bytes.Length(), [call = *this, request, response, method = std::move(method)] {
        call.FinishUnlessBegun(GuardedStatus([&] { return call.Change<Response>(*request, response, method); }));
      });
    }));
  }

 private:
  // An error of what was to end the call later: then it ends now.
  grpc::ServerUnaryReactor* FinishUnlessBegun(const absl::Status& begun) const {
    return begun.ok() ? reactor_ : Finish(begun);
  }
  // A task that keeps a request of so many bytes. UNAVAILABLE where the queue is full.
  static absl::Status Submit(TaskQueue* queue, size_t bytes, std::function<void()> task);

  template <class Response, class Request, class Method>
  absl::Status Change(const Request& request, grpc::ByteBuffer* response, const Method& method) const {
    Response answer;
    WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, method(request, &answer));
    *response = EncodeMessage(answer, ByteSlices());
    FinishAfterCommit(table);
    return absl::OkStatus();
  }

  grpc::CallbackServerContext* const context_;
  grpc::ServerUnaryReactor* const reactor_;
  const char* const method_;
  Refusals* const refusals_;
};

}  // namespace waggle
