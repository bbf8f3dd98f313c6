#include "cli/cluster_client.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/mutex.h"
#include "common/base/steady_now.h"
#include "common/rpc/channel.h"
#include "common/rpc/status_convert.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

// Apart from the bulk data's connections, which may be full.
constexpr char kPurpose[] = "status";

// One server's call, while it runs.
struct Describing {
  std::unique_ptr<v1::ReplayService::Stub> stub;
  grpc::ClientContext context;
  grpc::Status status;
};

// Asks all of them at once: one that hangs takes no time from the others.
void DescribeAll(const std::vector<std::shared_ptr<grpc::Channel>>& channels, const Deadline& deadline,
                 std::vector<ClusterSnapshot::ReplayServer>* servers) {
  const v1::DescribeRequest request;
  std::vector<Describing> calls(channels.size());
  Mutex mutex;
  CondVar answered;
  size_t running = calls.size();
  for (size_t i = 0; i < calls.size(); ++i) {
    Describing& call = calls[i];
    call.stub = v1::ReplayService::NewStub(channels[i]);
    SetDeadline(std::max(deadline.Left(), absl::Milliseconds(1)), &call.context);
    call.stub->async()->Describe(
        &call.context, &request, &(*servers)[i].tables, [&call, &mutex, &answered, &running](grpc::Status status) {
          MutexLock lock(&mutex);  // Held while signalling: who waits ends the life of all this.
          call.status = std::move(status);
          --running;
          answered.Signal();
        });
  }
  {
    MutexLock lock(&mutex);
    while (running > 0) {  // Each has its deadline.
      answered.Wait(&mutex);
    }
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    (*servers)[i].status = FromGrpcStatus(calls[i].status);
  }
}

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
  if (!status.ok()) {
    return Annotate(status, absl::StrCat("the parameter server at ", param_server_, " does not answer"));
  }
  std::set<std::string> addresses;
  for (const v1::WorkerInfo& worker : snapshot.overview.workers()) {
    if (worker.role() == v1::ROLE_REPLAY_SERVER && worker.alive() && !worker.address().empty()) {
      addresses.insert(worker.address());
    }
  }
  for (auto channel = replay_.begin(); channel != replay_.end();) {
    channel = addresses.count(channel->first) == 0 ? replay_.erase(channel) : std::next(channel);
  }
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (const std::string& address : addresses) {
    std::shared_ptr<grpc::Channel>& channel = replay_[address];
    if (channel == nullptr) {
      channel = NewChannel(address, kPurpose);
    }
    channels.push_back(channel);
    ClusterSnapshot::ReplayServer server;
    server.address = address;
    snapshot.replay_servers.push_back(std::move(server));
  }
  DescribeAll(channels, deadline, &snapshot.replay_servers);
  return snapshot;
}

}  // namespace waggle
