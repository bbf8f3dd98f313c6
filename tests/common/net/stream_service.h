#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/net/bidi_reactor.h"
#include "common/net/client_stream.h"
#include "common/net/server.h"
#include "tests/integration/raw_stream.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle::testing {

using Request = Message<v1::InsertRequest>;
using Response = Message<v1::InsertResponse>;
using ServerHandler = StreamHandler<Request, Response>;
using ServerPeer = StreamPeer<Response>;

// A service whose Insert method is served by the handlers that the test makes.
class StreamService final : public v1::ReplayService::WithRawCallbackMethod_Insert<v1::ReplayService::Service> {
 public:
  using Factory = std::function<std::unique_ptr<ServerHandler>()>;
  using Refused = std::function<void(const absl::Status&)>;
  explicit StreamService(Factory factory, Refused refused = nullptr, size_t max_header_bytes = kMaxHeaderBytes)
      : factory_(std::move(factory)), refused_(std::move(refused)), max_header_bytes_(max_header_bytes) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Insert(grpc::CallbackServerContext* context) override {
    return new BidiReactor<v1::InsertRequest, v1::InsertResponse>(context, factory_(), refused_, max_header_bytes_);
  }

 private:
  const Factory factory_;
  const Refused refused_;
  const size_t max_header_bytes_;
};

inline Request BlockRequest(uint64_t sequence) {
  Request request;
  request.header.mutable_block()->set_sequence(sequence);
  return request;
}

inline Response Ack(uint64_t sequence) {
  Response response;
  response.header.mutable_ack()->set_applied_sequence(sequence);
  return response;
}

using OpenStream = SeenStream<Response, Request>;
using ClientPeer = OpenStream::Peer;

inline OpenStream Open(const std::shared_ptr<grpc::Channel>& channel, bool reads_on = true,
                       const std::string& method = kInsert) {
  OpenStream stream;
  OpenClientStream<v1::InsertRequest, v1::InsertResponse>(channel, method,
                                                          std::make_unique<OpenStream::Client>(&stream, reads_on));
  return stream;
}

inline std::unique_ptr<RpcServer> StartServer(grpc::Service* service) {
  return ValueOf(RpcServer::Start("127.0.0.1:0", {service}));
}

}  // namespace waggle::testing
