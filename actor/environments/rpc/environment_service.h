#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>

#include "actor/environments/rpc/environment_stream.h"
#include "actor/environments/rpc/served_worlds.h"
#include "common/base/threads/executor.h"
#include "common/net/bidi_reactor.h"
#include "dm_env_rpc/v1/dm_env_rpc.grpc.pb.h"

namespace waggle {

// The limit of a request, which has settings or actions. A map's entry takes many times as much in memory as on the
// wire.
inline constexpr size_t kMaxRequestBytes = size_t{1} << 20;

// The service dm_env_rpc.v1.Environment.
class EnvironmentService final : public dm::Environment::WithRawCallbackMethod_Process<dm::Environment::Service> {
 public:
  // `worlds` outlives the service and its streams.
  explicit EnvironmentService(ServedWorlds* worlds)
      : worlds_(worlds),
        executor_("environments", std::max(4, static_cast<int>(std::thread::hardware_concurrency())), kMaxQueued) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Process(grpc::CallbackServerContext* context) override {
    return new BidiReactor<dm::EnvironmentRequest, dm::EnvironmentResponse>(
        context, std::make_unique<EnvironmentStream>(worlds_, &executor_), /*refused=*/nullptr, kMaxRequestBytes);
  }

 private:
  // Each stream has one request at a time.
  static constexpr size_t kMaxQueued = 65'536;

  ServedWorlds* const worlds_;
  Executor executor_;  // Last: its tasks use the worlds.
};

}  // namespace waggle
