#include "cli/server_kind.h"

#include <grpcpp/client_context.h>

#include "absl/strings/str_cat.h"
#include "common/rpc/channel.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(3);

bool IsReplayServer(const std::string& address) {
  grpc::ClientContext context;
  SetDeadline(kTimeout, &context);
  v1::DescribeResponse response;
  return v1::ReplayService::NewStub(NewChannel(address, "status"))
      ->Describe(&context, v1::DescribeRequest(), &response)
      .ok();
}

bool IsParamServer(const std::string& address) {
  grpc::ClientContext context;
  SetDeadline(kTimeout, &context);
  v1::OverviewResponse response;
  return v1::WorkerService::NewStub(NewChannel(address, "status"))
      ->Overview(&context, v1::OverviewRequest(), &response)
      .ok();
}

}  // namespace

absl::Status TellOtherKind(const absl::Status& status, const std::string& address, ServerKind wanted) {
  if (!absl::IsUnimplemented(status)) {
    return status;
  }
  if (wanted == ServerKind::kParamServer && IsReplayServer(address)) {
    return absl::FailedPreconditionError(
        absl::StrCat(address, " is a replay server, not a parameter server: name it with --replay-server"));
  }
  if (wanted == ServerKind::kReplayServer && IsParamServer(address)) {
    return absl::FailedPreconditionError(
        absl::StrCat(address, " is a parameter server, not a replay server: name it with --param-server"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(address, " is no ", wanted == ServerKind::kParamServer ? "parameter" : "replay",
                   " server, or one of another version: it does not know what it was asked"));
}

}  // namespace waggle
