// No test of its own: cluster_client_test.cc, replay_status_test.cc.

#include "cli/describe_client.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>

#include "cli/server_kind.h"
#include "common/base/mutex.h"
#include "common/rpc/channel.h"
#include "common/rpc/status_convert.h"
#include "waggle/v1/replay.grpc.pb.h"

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
void DescribeAll(const std::vector<std::shared_ptr<grpc::Channel>>& channels, absl::Duration timeout,
                 std::vector<ReplayServerState>* servers) {
  const v1::DescribeRequest request;
  std::vector<Describing> calls(channels.size());
  Mutex mutex;
  CondVar answered;
  size_t running = calls.size();
  for (size_t i = 0; i < calls.size(); ++i) {
    Describing& call = calls[i];
    call.stub = v1::ReplayService::NewStub(channels[i]);
    SetDeadline(std::max(timeout, absl::Milliseconds(1)), &call.context);
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

std::vector<ReplayServerState> DescribeClient::Describe(const std::vector<std::string>& addresses,
                                                        absl::Duration timeout) {
  std::map<std::string, std::shared_ptr<grpc::Channel>> asked;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::vector<ReplayServerState> servers(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto known = channels_.find(addresses[i]);
    channels.push_back(known != channels_.end() ? known->second : NewChannel(addresses[i], kPurpose));
    asked[addresses[i]] = channels.back();
    servers[i].address = addresses[i];
  }
  channels_ = std::move(asked);
  DescribeAll(channels, timeout, &servers);
  for (ReplayServerState& server : servers) {
    server.status = TellOtherKind(server.status, server.address, ServerKind::kReplayServer);
  }
  return servers;
}

}  // namespace waggle
