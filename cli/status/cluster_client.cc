#include "cli/status/cluster_client.h"

#include <grpcpp/client_context.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/status/server_kind.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/steady_now.h"
#include "common/rpc/channel.h"
#include "common/rpc/status_convert.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

// Apart from the bulk data's connections, which may be full.
constexpr char kPurpose[] = "status";

}  // namespace

ClusterClient::ClusterClient(const std::string& param_server)
    : param_server_(param_server), hub_(NewChannel(param_server, kPurpose)) {}

absl::StatusOr<ClusterSnapshot> ClusterClient::Fetch(absl::Duration timeout) {
  ClusterSnapshot snapshot;
  snapshot.requested_at = SteadyNow();
  const Deadline deadline(timeout);
  grpc::ClientContext context;
  SetDeadline(timeout, &context);
  const absl::Status status =
      FromGrpcStatus(v1::WorkerService::NewStub(hub_)->Overview(&context, v1::OverviewRequest(), &snapshot.overview));
  if (absl::IsUnimplemented(status)) {
    return TellOtherKind(status, param_server_, ServerKind::kParamServer);
  }
  if (!status.ok()) {
    return Annotate(status, absl::StrCat("the parameter server at ", param_server_, " does not answer"));
  }
  std::set<std::string> addresses;
  for (const v1::WorkerInfo& worker : snapshot.overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER && worker.alive() && !worker.address().empty()) {
      addresses.insert(worker.address());
    }
  }
  snapshot.replay_servers = replay_.Describe({addresses.begin(), addresses.end()}, deadline.Left());
  return snapshot;
}

}  // namespace waggle
