#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/base/backoff.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Receives the hub's news on a stream, and reopens it whenever it ends. No failure is an error, because heartbeats
// bring the news too.
class HubWatch {
 public:
  // Calls `take` with each assignment, from its own thread. An error ends the stream; the next begins after a pause.
  HubWatch(std::shared_ptr<grpc::Channel> channel, const std::string& experiment_id, const std::string& worker_id,
           std::function<absl::Status(const v1::Assignment&)> take);
  // Returns after the last call of `take`.
  ~HubWatch();
  HubWatch(const HubWatch&) = delete;
  HubWatch& operator=(const HubWatch&) = delete;

 private:
  void Run();
  // Listens until the stream ends.
  absl::Status Listen(Backoff* backoff);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string experiment_id_;
  const std::string worker_id_;
  const std::function<absl::Status(const v1::Assignment&)> take_;
  const StopToken stop_;
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle
