#include "cli/status/health.h"

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/threads/mutex.h"
#include "common/net/channel.h"
#include "common/net/status_convert.h"

namespace waggle {
namespace {

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr int kServing = 1;

// HealthCheckRequest and HealthCheckResponse have one field each, a string and an enumeration of number 1. On the wire
// these well-known messages are the same.
using Request = google::protobuf::StringValue;
using Response = google::protobuf::Int32Value;

}  // namespace

absl::Status AskHealth(const std::string& address, const std::string& service, absl::Duration timeout) {
  grpc::TemplatedGenericStub<Request, Response> stub(NewChannel(address, "health"));
  grpc::ClientContext context;
  SetDeadline(timeout, &context);
  Request request;
  request.set_value(service);
  Response response;
  grpc::Status answer;
  Mutex mutex;
  CondVar answered;
  bool done = false;
  stub.UnaryCall(&context, kCheck, grpc::StubOptions(), &request, &response, [&](grpc::Status status) {
    MutexLock lock(&mutex);  // Held while signalling: the waiting thread then destroys all this.
    answer = std::move(status);
    done = true;
    answered.Signal();
  });
  {
    MutexLock lock(&mutex);
    while (!done) {  // The call has its deadline.
      answered.Wait(&mutex);
    }
  }
  const std::string what = service.empty() ? address : absl::StrCat(service, " at ", address);
  const absl::Status status = FromGrpcStatus(answer);
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(absl::StrCat(address, " has no service ", service));
  }
  if (!status.ok()) {
    return Annotate(status, absl::StrCat(what, " does not report its health"));
  }
  if (response.value() != kServing) {
    return absl::FailedPreconditionError(absl::StrCat(what, " does not serve: status ", response.value(),
                                                      " of grpc.health.v1, wanted ", kServing, " (SERVING)"));
  }
  return absl::OkStatus();
}

}  // namespace waggle
