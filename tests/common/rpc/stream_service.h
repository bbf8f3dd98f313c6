#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/rpc/bidi_reactor.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/server.h"
#include "tests/integration/raw_stream.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle::testing {

using Request = Message<v1::InsertRequest>;
using Response = Message<v1::InsertResponse>;
using ServerHandler = StreamHandler<Request, Response>;
using ServerPeer = StreamPeer<Response>;

// A service whose Insert method is served by whatever handlers the test makes.
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

// What a client's handler saw, for the main thread to look at. Thread-safe.
class Seen {
 public:
  void Add(uint64_t sequence) {
    MutexLock lock(&mutex_);
    sequences_.push_back(sequence);
    changed_.SignalAll();
  }
  void Close(absl::Status status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
    ++closed_;
    changed_.SignalAll();
  }
  bool AwaitCount(size_t count) {
    MutexLock lock(&mutex_);
    while (sequences_.size() < count) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(20))) {
        return false;
      }
    }
    return true;
  }
  bool AwaitClosed() {
    MutexLock lock(&mutex_);
    while (closed_ == 0) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(20))) {
        return false;
      }
    }
    return true;
  }
  std::vector<uint64_t> sequences() const {
    MutexLock lock(&mutex_);
    return sequences_;
  }
  absl::Status status() const {
    MutexLock lock(&mutex_);
    return status_;
  }
  int closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t> sequences_;
  absl::Status status_;
  int closed_ = 0;
};

using ClientPeer = StreamPeer<Request>;

// Records the acknowledgements; reads on only if `reads_on`.
class RecordingClient final : public ClientStreamHandler<Response, Request> {
 public:
  RecordingClient(std::shared_ptr<Seen> seen, std::shared_ptr<ClientPeer>* peer, bool reads_on)
      : seen_(std::move(seen)), out_(peer), reads_on_(reads_on) {}
  void OnOpen(std::shared_ptr<ClientPeer> peer) override { *out_ = peer_ = std::move(peer); }
  void OnMessage(Response response) override {
    seen_->Add(response.header.ack().applied_sequence());
    if (reads_on_) {
      peer_->RequestNext();
    }
  }
  void OnPeerDone() override {}
  void OnClosed(absl::Status status) override { seen_->Close(std::move(status)); }

 private:
  const std::shared_ptr<Seen> seen_;
  std::shared_ptr<ClientPeer>* const out_;  // Written during OnOpen, in the opening thread.
  const bool reads_on_;
  std::shared_ptr<ClientPeer> peer_;
};

// Its end cancels the stream and waits until it has closed: a stream that nobody reads would never end.
struct OpenStream {
  OpenStream() = default;
  OpenStream(OpenStream&&) = default;
  OpenStream& operator=(OpenStream&&) = delete;
  ~OpenStream() {
    if (peer != nullptr) {
      peer->Close(absl::CancelledError("the test has ended"));
      seen->AwaitClosed();
    }
  }

  std::shared_ptr<Seen> seen;
  std::shared_ptr<ClientPeer> peer;
};

inline OpenStream Open(const std::shared_ptr<grpc::Channel>& channel, bool reads_on = true,
                       const std::string& method = kInsert) {
  OpenStream stream;
  stream.seen = std::make_shared<Seen>();
  OpenClientStream<v1::InsertRequest, v1::InsertResponse>(
      channel, method, std::make_unique<RecordingClient>(stream.seen, &stream.peer, reads_on));
  return stream;
}

inline std::unique_ptr<RpcServer> StartServer(grpc::Service* service) {
  return ValueOf(RpcServer::Start("127.0.0.1:0", {service}));
}

}  // namespace waggle::testing
