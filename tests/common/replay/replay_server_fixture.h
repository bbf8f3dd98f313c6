#pragma once

#include <memory>
#include <string>

#include "common/base/metrics/metrics.h"
#include "common/replay/replay_client.h"
#include "replay_server/service/replay_server.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// A replay server in this process, which can be ended and started again on the same port.
class ServerFixture {
 public:
  explicit ServerFixture(ReplayServiceOptions options = {}) : options_(std::move(options)) { Start(); }

  void Start() {
    ReplayServerOptions options;
    options.listen = address_;
    options.service = options_;
    server_ = ValueOf(ReplayServer::Start(std::move(options), &metrics_));
    address_ = server_->address();
  }
  void Stop() { server_.reset(); }
  void Restart() {
    Stop();
    Start();
  }

  const std::string& address() const { return address_; }
  const Metrics& metrics() const { return metrics_; }
  std::unique_ptr<ReplayConnection> Connect(const std::string& experiment_id = "") const {
    return ValueOf(NewGrpcReplayConnection({address_}, nullptr, experiment_id));
  }

 private:
  const ReplayServiceOptions options_;
  std::string address_ = "127.0.0.1:0";
  Metrics metrics_;
  std::unique_ptr<ReplayServer> server_;
};

}  // namespace waggle::testing
