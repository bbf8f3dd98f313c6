#include "cli/status/describe_client.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>

#include "cli/status/server_kind.h"
#include "common/base/threads/mutex.h"
#include "common/net/channel.h"
#include "common/net/status_convert.h"
#include "common/replay/table_names.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

// Not on the connections for bulk data, which may be full.
constexpr char kDescribePurpose[] = "status";

// The calls to one server.
struct Describing {
  std::unique_ptr<v1::ReplayService::Stub> stub;
  grpc::ClientContext context;
  grpc::Status status;
  // Asked if it is no replay server: it may be a parameter server.
  std::unique_ptr<v1::WorkerService::Stub> hub;
  grpc::ClientContext hub_context;
  v1::OverviewResponse overview;
  grpc::Status hub_status;
};

// Asks all servers at once: a server that hangs does not delay the others.
void DescribeAll(const std::vector<std::shared_ptr<grpc::Channel>>& channels, absl::Duration timeout,
                 std::vector<ReplayServerState>* servers) {
  const v1::DescribeRequest request;
  const v1::OverviewRequest hub_request;
  std::vector<Describing> calls(channels.size());
  Mutex mutex;
  CondVar answered;
  size_t running = calls.size();
  const auto end = [&mutex, &answered, &running] {
    MutexLock lock(&mutex);  // Held while signalling: the waiting thread then destroys all this.
    --running;
    answered.Signal();
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    Describing& call = calls[i];
    call.stub = v1::ReplayService::NewStub(channels[i]);
    call.hub = v1::WorkerService::NewStub(channels[i]);
    // Both deadlines begin now: a second call to a server does not lengthen the wait.
    SetDeadline(std::max(timeout, absl::Milliseconds(1)), &call.context);
    SetDeadline(std::max(timeout, absl::Milliseconds(1)), &call.hub_context);
    call.stub->async()->Describe(&call.context, &request, &(*servers)[i].tables,
                                 [&call, &hub_request, &end](grpc::Status status) {
                                   call.status = std::move(status);
                                   if (call.status.error_code() != grpc::StatusCode::UNIMPLEMENTED) {
                                     end();
                                     return;
                                   }
                                   call.hub->async()->Overview(&call.hub_context, &hub_request, &call.overview,
                                                               [&call, &end](grpc::Status hub_status) {
                                                                 call.hub_status = std::move(hub_status);
                                                                 end();
                                                               });
                                 });
  }
  {
    MutexLock lock(&mutex);
    while (running > 0) {  // Each has its deadline.
      answered.Wait(&mutex);
    }
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    const absl::Status status = FromGrpcStatus(calls[i].status);
    (*servers)[i].status = absl::IsUnimplemented(status)
                               ? OtherKindError((*servers)[i].address, ServerKind::kReplayServer,
                                                AnsweredAsParamServer(FromGrpcStatus(calls[i].hub_status)))
                               : status;
  }
}

}  // namespace

std::vector<ReplayServerState> DescribeClient::Describe(const std::vector<std::string>& addresses,
                                                        absl::Duration timeout, const std::string& experiment_id) {
  std::map<std::string, std::shared_ptr<grpc::Channel>> asked;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::vector<ReplayServerState> servers(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto known = channels_.find(addresses[i]);
    channels.push_back(known != channels_.end() ? known->second : NewChannel(addresses[i], kDescribePurpose));
    asked[addresses[i]] = channels.back();
    servers[i].address = addresses[i];
  }
  channels_ = std::move(asked);
  DescribeAll(channels, timeout, &servers);
  for (ReplayServerState& server : servers) {
    KeepTablesOf(experiment_id, &server.tables);
    for (v1::TableInfo& table : *server.tables.mutable_tables()) {
      table.set_blocked_because(WithPlainNames(table.blocked_because(), experiment_id));
    }
  }
  return servers;
}

}  // namespace waggle
