#pragma once

#include <memory>

#include "actor/rpc_environments/environment_session.h"
#include "actor/rpc_environments/served_worlds.h"
#include "common/rpc/bidi_reactor.h"
#include "dm_env_rpc/v1/dm_env_rpc.grpc.pb.h"

namespace waggle {

// What a request may have: settings and actions. A map's entry takes many times as much in memory as on the wire.
inline constexpr size_t kMaxRequestBytes = size_t{1} << 20;

// The service dm_env_rpc.v1.Environment.
class EnvironmentService final : public dm::Environment::WithRawCallbackMethod_Process<dm::Environment::Service> {
 public:
  // `worlds` outlives the service and its streams.
  explicit EnvironmentService(ServedWorlds* worlds) : worlds_(worlds) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Process(grpc::CallbackServerContext* context) override {
    return new BidiReactor<dm::EnvironmentRequest, dm::EnvironmentResponse>(
        context, std::make_unique<EnvironmentSession>(worlds_), /*refused=*/nullptr, kMaxRequestBytes);
  }

 private:
  ServedWorlds* const worlds_;
};

}  // namespace waggle
