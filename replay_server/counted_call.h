#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/base/task_queue.h"
#include "common/rpc/guard.h"
#include "common/rpc/unary_method.h"
#include "replay_server/refusals.h"
#include "replay_server/table/table.h"

// How the replay service ends its calls: in one way only, so that nothing is refused and not counted.

namespace waggle {

// HOST:PORT, of what gRPC calls "ipv4:HOST:PORT" or "ipv6:%5BHOST%5D:PORT".
std::string PeerOf(const grpc::CallbackServerContext& context);

// For a stream of `method`: counts the error that this server ends it with. The refusals outlive the stream.
std::function<void(const absl::Status&)> CountInto(Refusals* refusals, const char* method,
                                                   const grpc::CallbackServerContext* context);

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
  // Once the table has done what its durability asks for.
  grpc::ServerUnaryReactor* FinishAfterCommit(const std::shared_ptr<Table>& table) const;

  // Calls `answer`, which may take long and keeps a request of so many bytes, by a task, and ends with what it returns.
  grpc::ServerUnaryReactor* AnswerLater(TaskQueue* queue, size_t bytes, std::function<absl::Status()> answer) const;
  // The same for what changes a table, which it returns: ends with its error, or as FinishAfterCommit.
  grpc::ServerUnaryReactor* ChangeLater(TaskQueue* queue, size_t bytes,
                                        std::function<absl::StatusOr<std::shared_ptr<Table>>()> change) const;

  // Ends with what `method(const Request&, Response*)` returns, which does not block.
  template <class Request, class Response, class Method>
  grpc::ServerUnaryReactor* AnswerNow(const grpc::ByteBuffer& bytes, grpc::ByteBuffer* response, size_t max_bytes,
                                      const Method& method) const {
    return Finish(GuardedStatus([&]() -> absl::Status {
      Request request;
      WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, &request));
      Response answer;
      WAGGLE_RETURN_IF_ERROR(method(static_cast<const Request&>(request), &answer));
      *response = EncodeMessage(answer, ByteSlices());
      return absl::OkStatus();
    }));
  }

  // The same for a method that changes a table and returns it: ends as ChangeLater.
  template <class Request, class Response, class Method>
  grpc::ServerUnaryReactor* ChangeNow(const grpc::ByteBuffer& bytes, grpc::ByteBuffer* response, size_t max_bytes,
                                      const Method& method) const {
    std::shared_ptr<Table> table;
    const absl::Status status = GuardedStatus([&]() -> absl::Status {
      Request request;
      WAGGLE_RETURN_IF_ERROR(DecodeRequest(bytes, max_bytes, &request));
      Response answer;
      WAGGLE_ASSIGN_OR_RETURN(table, method(static_cast<const Request&>(request), &answer));
      *response = EncodeMessage(answer, ByteSlices());
      return absl::OkStatus();
    });
    return status.ok() ? FinishAfterCommit(table) : Finish(status);
  }

 private:
  grpc::CallbackServerContext* const context_;
  grpc::ServerUnaryReactor* const reactor_;
  const char* const method_;
  Refusals* const refusals_;
};

}  // namespace waggle
