#include "cli/status/server_kind.h"

#include "absl/strings/str_cat.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(3);

bool IsReplayServer(const std::string& address) {
  const auto stub = v1::ReplayService::NewStub(NewChannel(address, "status"));
  return CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), kTimeout).ok();
}

bool IsParamServer(const std::string& address) {
  const auto stub = v1::WorkerService::NewStub(NewChannel(address, "status"));
  return AnsweredAsParamServer(
      CallUnary(stub.get(), &v1::WorkerService::Stub::Overview, v1::OverviewRequest(), kTimeout).status());
}

}  // namespace

bool AnsweredAsParamServer(const absl::Status& overview) {
  return overview.ok() || absl::IsNotFound(overview);
}

absl::Status OtherKindError(const std::string& address, ServerKind wanted, bool is_other_kind) {
  const bool wants_hub = wanted == ServerKind::kParamServer;
  const char* const kind = wants_hub ? "parameter" : "replay";
  if (!is_other_kind) {
    return absl::FailedPreconditionError(
        absl::StrCat(address, " is no ", kind, " server, or one of another version: it does not know the method"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      address, " is a ", wants_hub ? "replay" : "parameter", " server, not a ", kind, " server: ",
      wants_hub ? "verbs that ask replay servers take it as --replay-server" : "name it with --param-server"));
}

absl::Status TellOtherKind(const absl::Status& status, const std::string& address, ServerKind wanted) {
  if (!absl::IsUnimplemented(status)) {
    return status;
  }
  return OtherKindError(address, wanted,
                        wanted == ServerKind::kParamServer ? IsReplayServer(address) : IsParamServer(address));
}

}  // namespace waggle
