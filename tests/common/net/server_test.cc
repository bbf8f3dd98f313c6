#include "common/net/server.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/net/channel.h"
#include "tests/common/net/stream_service.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp_socket.h"

namespace waggle {
namespace {

using testing::Open;
using testing::OpenStream;
using testing::ServerHandler;
using testing::ServerPeer;
using testing::StartServer;
using testing::StreamService;
using Socket = testing::TcpSocket;

// Never ends a stream by itself.
class EndlessHandler final : public ServerHandler {
 public:
  void OnOpen(std::shared_ptr<ServerPeer> peer) override {
    peer_ = std::move(peer);
    peer_->Send(testing::Ack(1));
  }
  void OnMessage(testing::Request /*request*/) override { peer_->RequestNext(); }
  void OnPeerDone() override {}

 private:
  std::shared_ptr<ServerPeer> peer_;
};

StreamService::Factory Endless() {
  return [] { return std::make_unique<EndlessHandler>(); };
}

// Calls a unary method with raw bytes and returns the raw answer.
class RawUnary final : public RawClientStreamHandler {
 public:
  RawUnary(std::string request, std::shared_ptr<testing::Seen> seen, std::shared_ptr<std::string> answer)
      : request_(std::move(request)), seen_(std::move(seen)), answer_(std::move(answer)) {}
  void OnOpen(std::shared_ptr<RawStreamPeer> peer) override {
    const grpc::Slice slice(request_.data(), request_.size());
    peer->Send(grpc::ByteBuffer(&slice, 1));
    peer->Close(absl::OkStatus());
    peer_ = std::move(peer);
  }
  void OnMessage(grpc::ByteBuffer message) override {
    std::vector<grpc::Slice> slices;
    if (message.Dump(&slices).ok()) {
      for (const grpc::Slice& slice : slices) {
        answer_->append(reinterpret_cast<const char*>(slice.begin()), slice.size());
      }
    }
    peer_->RequestNext();
  }
  void OnPeerDone() override {}
  void OnClosed(absl::Status status) override { seen_->Close(std::move(status)); }

 private:
  const std::string request_;
  const std::shared_ptr<testing::Seen> seen_;
  const std::shared_ptr<std::string> answer_;
  std::shared_ptr<RawStreamPeer> peer_;
};

std::string RawCall(const std::string& address, const std::string& method, const std::string& request) {
  const auto seen = std::make_shared<testing::Seen>();
  const auto answer = std::make_shared<std::string>();
  OpenRawClientStream(NewChannel(address, "test"), method, std::make_unique<RawUnary>(request, seen, answer));
  REQUIRE(seen->AwaitClosed());
  REQUIRE_OK(seen->status());
  return *answer;
}

TEST_CASE("A server on port 0 returns its port", "[grpc]") {
  StreamService service(Endless());
  const auto server = StartServer(&service);
  CHECK(server->address().rfind("127.0.0.1:", 0) == 0);
  CHECK(server->address() != "127.0.0.1:0");
  CHECK(Socket(server->address()).connected());
}

TEST_CASE("A second server on a taken port is refused with a clear error", "[grpc]") {
  StreamService service(Endless());
  StreamService other(Endless());
  const auto server = StartServer(&service);
  testing::CapturedStream errors(STDERR_FILENO);
  const auto second = RpcServer::Start(server->address(), {&other});
  CHECK(errors.Finish().empty());  // The error has all details.
  REQUIRE_CODE(second, absl::StatusCode::kUnavailable);
  CHECK(std::string(second.status().message()).find(server->address()) != std::string::npos);
  CHECK(std::string(second.status().message()).find("taken") != std::string::npos);
}

TEST_CASE("Text that is not an address to listen on is refused", "[grpc]") {
  StreamService service(Endless());
  for (const char* address : {"", ":", "7001", "localhost", "localhost:", ":7001", "localhost:port", "localhost:-1",
                              "localhost:65536", "localhost:99999999999"}) {
    INFO(address);
    CHECK(RpcServer::Start(address, {&service}).status().code() == absl::StatusCode::kInvalidArgument);
  }
  StreamService other(Endless());
  const auto elsewhere = RpcServer::Start("192.0.2.1:7001", {&other});
  REQUIRE_CODE(elsewhere, absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(elsewhere.status().message()),
             Catch::Contains("cannot listen on 192.0.2.1:7001: the host is not one of this machine's"));
}

TEST_CASE("A server that had no descriptor left for a client accepts others when it has some again", "[grpc]") {
  StreamService service(Endless());
  const auto server = StartServer(&service);
  Socket turned_away;
  {
    const testing::NoDescriptors none;
    REQUIRE(turned_away.Connect(server->address()));
    testing::Eventually("a failure to accept", [&] { return server->listener().failures() > 0; });
  }
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  REQUIRE(stream.seen->AwaitCount(1));
  stream.peer->Close(absl::CancelledError("enough"));
  REQUIRE(stream.seen->AwaitClosed());
}

TEST_CASE("Garbage on the port neither stops nor confuses the server", "[grpc]") {
  StreamService service(Endless());
  const auto server = StartServer(&service);
  Rng rng(1);
  std::string random(100'000, '\0');
  for (char& byte : random) {
    byte = static_cast<char>(rng.Next());
  }
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const std::string& bytes : {random, std::string("GET / HTTP/1.1\r\n\r\n"), preface + random}) {
    Socket socket(server->address());
    REQUIRE(socket.connected());
    socket.Write(bytes);
    CHECK(socket.AwaitEnd());
  }
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  REQUIRE(stream.seen->AwaitCount(1));
  stream.peer->Close(absl::CancelledError("enough"));
  REQUIRE(stream.seen->AwaitClosed());
}

TEST_CASE("A compressed message is refused", "[grpc]") {
  StreamService service(Endless());
  const auto server = StartServer(&service);
  const auto stub = v1::ReplayService::NewStub(NewChannel(server->address(), "test"));
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    SetDeadline(absl::Seconds(20), &context);
    context.set_compression_algorithm(algorithm);
    v1::ClearRequest request;
    request.set_table(std::string(1 << 20, 'a'));
    v1::ClearResponse response;
    CHECK(stub->Clear(&context, request, &response).error_code() == grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST_CASE("Every server answers health checks", "[grpc]") {
  StreamService service(Endless());
  const auto server = StartServer(&service);
  CHECK(RawCall(server->address(), "/grpc.health.v1.Health/Check", "") == "\x08\x01");  // SERVING.
}

TEST_CASE("Every server lists its services", "[grpc]") {
  StreamService service(Endless());
  const auto server = StartServer(&service);
  const std::string answer =
      RawCall(server->address(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              std::string("\x3A\x01*", 3));  // list_services: "*".
  CHECK(answer.find("waggle.v1.ReplayService") != std::string::npos);
  CHECK(answer.find("grpc.health.v1.Health") != std::string::npos);
}

TEST_CASE("Shutdown ends streams that would never end", "[grpc]") {
  StreamService service(Endless());
  const auto server = StartServer(&service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  REQUIRE(stream.seen->AwaitCount(1));
  server->Shutdown(absl::Milliseconds(10));
  REQUIRE(stream.seen->AwaitClosed());
  CHECK(!stream.seen->status().ok());
  server->Shutdown(absl::Milliseconds(10));
  CHECK(!Socket(server->address()).connected());
}

}  // namespace
}  // namespace waggle
