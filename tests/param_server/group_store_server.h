#pragma once

#include <memory>
#include <string>

#include "common/hub/key_store_client.h"
#include "common/net/server.h"
#include "param_server/services/store_service.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// A server with only a GroupStore.
struct GroupStoreServer {
  GroupStoreServer() { store.Begin(epoch); }
  std::unique_ptr<KeyStore> Client() const { return NewGrpcKeyStore(server->address(), epoch); }
  static std::shared_ptr<RunServices> NewRun(GroupStore* store) {
    auto run = std::make_shared<RunServices>();
    run->groups = store;
    return run;
  }

  uint64_t epoch = 7;
  GroupStore store;
  const std::shared_ptr<RunServices> run = NewRun(&store);
  StoreService service{[this](const std::string& /*experiment_id*/) { return run; }};
  std::unique_ptr<RpcServer> server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
};

}  // namespace waggle::testing
