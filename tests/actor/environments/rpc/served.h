#pragma once

#include <memory>
#include <string>
#include <utility>

#include "actor/environments/environment.h"
#include "actor/environments/rpc/environment_service.h"
#include "actor/environments/rpc/rpc_environments.h"
#include "common/net/channel.h"
#include "common/net/server.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Waggle's own server of an environment, in this process.
class Served {
 public:
  explicit Served(EnvironmentDefinition definition, const EnvironmentOptions& options = {},
                  int64_t max_bytes = int64_t{1} << 30, const std::string& listen = "127.0.0.1:0")
      : definition_(std::move(definition)),
        worlds_(ValueOf(ServedWorlds::Create(&definition_, options, /*seed=*/1, max_bytes))),
        service_(worlds_.get()),
        server_(ValueOf(RpcServer::Start(listen, {&service_}))) {}

  const std::string& address() const { return server_->address(); }
  ServedWorlds& worlds() { return *worlds_; }

 private:
  const EnvironmentDefinition definition_;
  const std::unique_ptr<ServedWorlds> worlds_;
  EnvironmentService service_;
  const std::unique_ptr<RpcServer> server_;
};

inline EnvironmentDefinition BuiltIn(const std::string& name) {
  return *ValueOf(BuiltinEnvironments().Find(name));
}

// Lanes at a server.
inline RpcEnvironmentsOptions LanesAt(const std::string& address, int64_t lanes) {
  RpcEnvironmentsOptions options;
  options.servers = {{address, NewChannel(address, "test")}};
  options.session.spec.environment_name = "dm_env_rpc";
  options.lanes = lanes;
  options.restarts.first_retry = absl::Milliseconds(1);
  return options;
}

}  // namespace waggle::testing
