#include "common/net/channel.h"

#include <memory>
#include <string>

#include "common/net/server.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

// Answers with the address of the caller.
class PeerService final : public v1::ReplayService::CallbackService {
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const v1::DescribeRequest* /*request*/,
                                     v1::DescribeResponse* response) override {
    response->add_tables()->mutable_config()->set_name(context->peer());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

std::string PeerOf(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  SetDeadline(absl::Seconds(20), &context);
  v1::DescribeResponse response;
  const auto stub = v1::ReplayService::NewStub(channel);
  const grpc::Status status = stub->Describe(&context, v1::DescribeRequest(), &response);
  REQUIRE(status.error_message() == "");
  return response.tables(0).config().name();
}

TEST_CASE("Channels of one purpose share a connection and those of different ones do not", "[grpc]") {
  PeerService service;
  const auto server = testing::ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const auto insert = NewChannel(server->address(), "insert");
  const auto insert_too = NewChannel(server->address(), "insert");
  const auto sample = NewChannel(server->address(), "sample");
  const std::string peer = PeerOf(insert);
  CHECK(PeerOf(insert_too) == peer);
  CHECK(PeerOf(sample) != peer);
}

TEST_CASE("A channel finds a server that starts after it was made", "[grpc]") {
  std::string address;
  {
    PeerService service;
    address = testing::ValueOf(RpcServer::Start("127.0.0.1:0", {&service}))->address();
  }
  const auto channel = NewChannel(address, "late");
  const auto stub = v1::ReplayService::NewStub(channel);
  grpc::ClientContext at_once;
  SetDeadline(absl::Seconds(20), &at_once);
  v1::DescribeResponse response;
  CHECK(stub->Describe(&at_once, v1::DescribeRequest(), &response).error_code() == grpc::StatusCode::UNAVAILABLE);
  PeerService service;
  const auto server = testing::ValueOf(RpcServer::Start(address, {&service}));
  grpc::ClientContext waiting;
  SetDeadline(absl::Seconds(20), &waiting);
  waiting.set_wait_for_ready(true);
  CHECK(stub->Describe(&waiting, v1::DescribeRequest(), &response).ok());
}

TEST_CASE("A deadline that has passed ends a call", "[grpc]") {
  const auto channel = NewChannel("127.0.0.1:1", "test");
  const auto stub = v1::ReplayService::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(absl::ZeroDuration(), &context);
  context.set_wait_for_ready(true);
  v1::DescribeResponse response;
  CHECK(stub->Describe(&context, v1::DescribeRequest(), &response).error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
}

}  // namespace
}  // namespace waggle
