#include "common/net/client_stream.h"

#include <utility>
#include <vector>

#include "common/net/channel.h"
#include "tests/common/net/stream_service.h"
#include "tests/integration/raw_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::Ack;
using testing::BlockRequest;
using testing::Open;
using testing::OpenStream;
using testing::Request;
using testing::ServerHandler;
using testing::ServerPeer;
using testing::StartServer;
using testing::StreamService;

class EchoHandler final : public ServerHandler {
 public:
  void OnOpen(std::shared_ptr<ServerPeer> peer) override { peer_ = std::move(peer); }
  void OnMessage(Request request) override {
    peer_->Send(Ack(request.header.block().sequence()));
    peer_->RequestNext();
  }
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  std::shared_ptr<ServerPeer> peer_;
};

std::unique_ptr<ServerHandler> NewEcho() {
  return std::make_unique<EchoHandler>();
}

TEST_CASE("A client stream sends and receives in order, and ends with OK after Close", "[grpc]") {
  StreamService service(NewEcho);
  const auto server = StartServer(&service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  for (uint64_t i = 0; i < 1'000; ++i) {
    stream.peer->Send(BlockRequest(i));
  }
  stream.peer->Close(absl::OkStatus());
  stream.peer->Send(BlockRequest(99'999));  // After the half-close: dropped.
  REQUIRE(stream.seen->AwaitClosed());
  CHECK(stream.seen->status() == absl::OkStatus());
  REQUIRE(stream.seen->sequences().size() == 1'000);
  CHECK(stream.seen->sequences().back() == 999);
  CHECK(stream.seen->closed() == 1);
}

TEST_CASE("A stream to a port without a server ends as unavailable", "[grpc]") {
  const OpenStream stream = Open(NewChannel("127.0.0.1:1", "test"));
  stream.peer->Send(BlockRequest(1));
  REQUIRE(stream.seen->AwaitClosed());
  CHECK(stream.seen->status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("A stream to a method that does not exist ends as unimplemented", "[grpc]") {
  StreamService service(NewEcho);
  const auto server = StartServer(&service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"), true, "/waggle.v1.ReplayService/Nothing");
  REQUIRE(stream.seen->AwaitClosed());
  CHECK(stream.seen->status().code() == absl::StatusCode::kUnimplemented);
}

TEST_CASE("The end of the server ends the stream as unavailable", "[grpc]") {
  StreamService service(NewEcho);
  auto server = StartServer(&service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  stream.peer->Send(BlockRequest(1));
  REQUIRE(stream.seen->AwaitCount(1));
  server.reset();
  REQUIRE(stream.seen->AwaitClosed());
  CHECK((stream.seen->status().code() == absl::StatusCode::kUnavailable ||
         stream.seen->status().code() == absl::StatusCode::kCancelled));
  stream.peer->Send(BlockRequest(2));
  stream.peer->RequestNext();
}

// Sends some messages and ends the stream with an error.
class LastWords final : public ServerHandler {
 public:
  explicit LastWords(std::shared_ptr<testing::Seen> gone) : gone_(std::move(gone)) {}
  ~LastWords() override { gone_->Close(absl::OkStatus()); }
  void OnOpen(std::shared_ptr<ServerPeer> peer) override {
    for (uint64_t i = 0; i < 3; ++i) {
      peer->Send(Ack(i));
    }
    peer->Send(Ack(3), [peer] { peer->Close(absl::UnavailableError("it stops")); });
  }
  void OnMessage(Request /*request*/) override {}
  void OnPeerDone() override {}

 private:
  const std::shared_ptr<testing::Seen> gone_;
};

TEST_CASE("Close ends a stream that the server has ended too, even if messages are unread", "[grpc]") {
  std::shared_ptr<testing::Seen> gone;
  StreamService service([&gone]() -> std::unique_ptr<ServerHandler> {
    return gone != nullptr ? std::make_unique<LastWords>(std::exchange(gone, nullptr)) : NewEcho();
  });
  const auto server = StartServer(&service);
  const auto channel = NewChannel(server->address(), "test");
  for (int i = 0; i < 10; ++i) {
    const auto server_side = gone = std::make_shared<testing::Seen>();
    const OpenStream stream = Open(channel, /*reads_on=*/false);
    REQUIRE(stream.seen->AwaitCount(1));
    REQUIRE(server_side->AwaitClosed());
    // An answer over the same connection, sent after the stream's end, so that it arrives later.
    const OpenStream echo = Open(channel);
    echo.peer->Send(BlockRequest(1));
    REQUIRE(echo.seen->AwaitCount(1));
    stream.peer->Close(absl::AbortedError("changed its mind"));
    REQUIRE(stream.seen->AwaitClosed());
    CHECK(stream.seen->status() == absl::AbortedError("changed its mind"));
    CHECK(stream.seen->sequences().size() == 1);
    echo.peer->Close(absl::OkStatus());
    REQUIRE(echo.seen->AwaitClosed());
  }
}

// Ends its stream with an error at the second message.
class Displeased final : public ClientStreamHandler<testing::Response, Request> {
 public:
  explicit Displeased(std::shared_ptr<testing::Seen> seen) : seen_(std::move(seen)) {}
  void OnOpen(std::shared_ptr<testing::ClientPeer> peer) override {
    peer_ = std::move(peer);
    peer_->Send(BlockRequest(0));
  }
  void OnMessage(testing::Response response) override {
    if (response.header.ack().applied_sequence() > 0) {
      peer_->Close(absl::InternalError("not that"));
      return;
    }
    for (uint64_t i = 1; i < 4; ++i) {
      peer_->Send(BlockRequest(i));
    }
    peer_->RequestNext();
  }
  void OnPeerDone() override {}
  void OnClosed(absl::Status status) override { seen_->Close(std::move(status)); }

 private:
  const std::shared_ptr<testing::Seen> seen_;
  std::shared_ptr<testing::ClientPeer> peer_;
};

TEST_CASE("A stream ends if it is closed during the last messages of a server that has ended it", "[grpc]") {
  const auto gone = std::make_shared<testing::Seen>();
  StreamService service([&gone] { return std::make_unique<LastWords>(gone); });
  const auto server = StartServer(&service);
  for (int i = 0; i < 100; ++i) {
    const auto seen = std::make_shared<testing::Seen>();
    OpenClientStream<v1::InsertRequest, v1::InsertResponse>(NewChannel(server->address(), "test"), testing::kInsert,
                                                            std::make_unique<Displeased>(seen));
    INFO(i);
    REQUIRE(seen->AwaitClosed());
    CHECK(!seen->status().ok());
  }
}

// Cancels its stream before it has started.
class ClosingClient final : public ClientStreamHandler<testing::Response, Request> {
 public:
  explicit ClosingClient(std::shared_ptr<testing::Seen> seen) : seen_(std::move(seen)) {}
  void OnOpen(std::shared_ptr<testing::ClientPeer> peer) override { peer->Close(absl::CancelledError("at once")); }
  void OnMessage(testing::Response /*response*/) override {}
  void OnPeerDone() override {}
  void OnClosed(absl::Status status) override { seen_->Close(std::move(status)); }

 private:
  const std::shared_ptr<testing::Seen> seen_;
};

TEST_CASE("A stream may be closed while it is being opened", "[grpc]") {
  StreamService service(NewEcho);
  const auto server = StartServer(&service);
  const auto seen = std::make_shared<testing::Seen>();
  OpenClientStream<v1::InsertRequest, v1::InsertResponse>(NewChannel(server->address(), "test"), testing::kInsert,
                                                          std::make_unique<ClosingClient>(seen));
  REQUIRE(seen->AwaitClosed());
  CHECK(seen->status() == absl::CancelledError("at once"));
}

grpc::ByteBuffer Bytes(const std::string& bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

TEST_CASE("Bytes of no message end the stream as an invalid argument", "[grpc]") {
  StreamService service(NewEcho);
  const auto server = StartServer(&service);
  for (const std::string& bytes : {std::string(100, '\xFF'), std::string("\x0B\x0C"),
                                   std::string("\x12\x7F"
                                               "abc")}) {
    const testing::RawStream stream(server->address(), testing::kInsert);
    stream.peer->Send(Bytes(bytes));
    CHECK(stream.seen->AwaitEnd().code() == absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("A message above the limit is refused by the sender", "[grpc]") {
  StreamService service(NewEcho);
  const auto server = StartServer(&service);
  const testing::RawStream stream(server->address(), testing::kInsert);
  stream.peer->Send(Bytes(std::string(kMaxMessageBytes + 1, 'x')));
  CHECK(stream.seen->AwaitEnd().code() == absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace waggle
