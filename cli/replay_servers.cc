#include "cli/replay_servers.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

constexpr char kPurpose[] = "questions";

absl::StatusOr<std::set<std::string>> AddressesOf(const ReplayTarget& target, absl::Duration timeout) {
  std::set<std::string> addresses(target.replay_servers.begin(), target.replay_servers.end());
  if (!addresses.empty()) {
    return addresses;
  }
  v1::OverviewResponse overview;
  const auto hub = v1::WorkerService::NewStub(NewChannel(target.param_server, kPurpose));
  const absl::Status status = CallUnary(timeout, StopToken(), [&](grpc::ClientContext* context) {
    return hub->Overview(context, v1::OverviewRequest(), &overview);
  });
  WAGGLE_RETURN_IF_ERROR(
      Annotate(status, absl::StrCat("the parameter server at ", target.param_server, " does not answer")));
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER && worker.alive() && !worker.address().empty()) {
      addresses.insert(worker.address());
    }
  }
  if (addresses.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the parameter server at ", target.param_server, " knows no replay server that is alive"));
  }
  return addresses;
}

}  // namespace

absl::StatusOr<ReplayServers> ReplayServers::Find(const ReplayTarget& target, absl::Duration timeout) {
  WAGGLE_ASSIGN_OR_RETURN(const std::set<std::string> addresses, AddressesOf(target, timeout));
  ReplayServers servers;
  for (const std::string& address : addresses) {
    servers.servers_.push_back({address, v1::ReplayService::NewStub(NewChannel(address, kPurpose))});
  }
  return servers;
}

}  // namespace waggle
