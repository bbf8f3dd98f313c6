#pragma once

#include <memory>
#include <string>

#include "common/net/channel.h"
#include "common/net/server.h"
#include "common/rl/algorithms/definitions.h"
#include "param_server/services/experiment_service.h"
#include "param_server/services/pool_service.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// A hub in this process, with its services for users and for the pool.
struct HubServer {
  static ExperimentHostOptions Options(const TemporaryFolder& folder, const AlgorithmDefinitions* algorithms) {
    ExperimentHostOptions options;
    options.data_folder = folder.path();
    options.self.worker_id = "hub";
    options.self.role = Role::kParamServer;
    options.algorithms = algorithms;
    options.answer_after = absl::Milliseconds(20);
    return options;
  }

  const TemporaryFolder folder;
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  const std::unique_ptr<ExperimentHost> host = ValueOf(ExperimentHost::Open(Options(folder, &algorithms)));
  PoolService pool_service{host.get()};
  ExperimentService experiment_service{host.get()};
  const std::unique_ptr<RpcServer> server =
      ValueOf(RpcServer::Start("127.0.0.1:0", {&pool_service, &experiment_service}));
  const std::shared_ptr<grpc::Channel> channel = NewChannel(server->address(), "test");
};

}  // namespace waggle::testing
