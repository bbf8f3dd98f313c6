#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/keepalive.h"
#include "common/net/listener.h"

namespace waggle {

class RpcFigures;

// A gRPC server with health and reflection services, message limits, keepalive and its own port. Without compression: a
// small compressed message could unfold into any amount of memory.
class RpcServer {
 public:
  // Listens on HOST:PORT; port 0 takes a free one. The services must outlive the server. INVALID_ARGUMENT for a
  // malformed address; UNAVAILABLE if listening fails, for example on another server's port. FAILED_PRECONDITION if the
  // process's security has no certificate, or would serve plain text beyond this machine. Counts all calls into
  // `figures`, which outlive the server, unless they are null.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const std::string& listen,
                                                          const std::vector<grpc::Service*>& services,
                                                          const Keepalive& keepalive = kServerKeepalive,
                                                          RpcFigures* figures = nullptr);
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // With the port that was taken.
  const std::string& address() const { return listener_->address(); }

  const Listener& listener() const { return *listener_; }

  // Stops accepting, gives calls `grace` to end, then cancels them. Idempotent. The destructor calls it.
  void Shutdown(absl::Duration grace);

 private:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  RpcServer(std::unique_ptr<grpc::Server> server, std::unique_ptr<Acceptor> acceptor,
            std::unique_ptr<Listener> listener);

  const std::unique_ptr<grpc::Server> server_;
  const std::unique_ptr<Acceptor> acceptor_;
  const std::unique_ptr<Listener> listener_;  // Hands its connections to the acceptor.
};

}  // namespace waggle
