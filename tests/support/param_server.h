#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/hub/hub_client.h"
#include "common/net/server.h"
#include "param_server/services/model_service.h"
#include "param_server/services/worker_service.h"
#include "tests/param_server/seat_giver.h"
#include "tests/param_server/single_run.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// A parameter server in this process, on a folder of its own and a port that it keeps over restarts.
class ParamServer {
 public:
  ParamServer() {
    plan.name = "x";
    plan.yaml = "the experiment";
    hub_options.self.worker_id = "self";
    hub_options.self.role = Role::kParamServer;
    hub_options.metrics = &metrics;
  }
  ~ParamServer() { Stop(); }

  void Start() {
    models = std::make_unique<ModelStore>(model_options);
    state = ValueOf(HubState::Open(folder.path()));
    newest_weights = OpenWeights(kNewestModelFolder);
    best_weights = OpenWeights(kBestModelFolder);
    hub_options.newest_weights = newest_weights.get();
    hub_options.best_weights = best_weights.get();
    hub = ValueOf(Hub::Create(hub_options, plan, state.get(), models.get()));
    seats.OrderAgain(hub.get());
    const FindRun run = SingleRun(hub.get(), models.get(), &metrics,
                                  [this] { return std::max(epochs_of_absent, state->last_epoch()); });
    model_service = std::make_unique<ModelService>(run);
    worker_service = std::make_unique<WorkerService>(run, heartbeat_interval);
    server = ValueOf(RpcServer::Start(address, {model_service.get(), worker_service.get()}));
    address = server->address();
  }

  // Like a process that ends: only the folder is kept.
  void Stop() {
    server.reset();
    worker_service.reset();
    model_service.reset();
    seats.ForgetThoseWhoLeft(hub.get());
    hub.reset();
    newest_weights.reset();
    best_weights.reset();
    state.reset();
    models.reset();
  }

  // Orders a worker to the run, as the pool does; returns how it joins. Empty: a name is made up.
  HubClientOptions Order(Role role, const std::string& worker_id = "") {
    HubClientOptions options;
    options.hub_address = address;
    options.worker_id = worker_id.empty() ? absl::StrCat(RoleName(role), "-", ++named) : worker_id;
    options.address = role == Role::kReplayServer ? "10.0.0.1:7001" : "";
    seats.Order(hub.get(), options.worker_id, role);
    return options;
  }

  std::unique_ptr<WeightsFolder> OpenWeights(const std::string& name) const {
    WeightsFolderOptions options;
    options.folder = folder.File(name);
    return ValueOf(WeightsFolder::Open(options));
  }

  // May be changed before Start.
  RunPlan plan;
  HubOptions hub_options;
  ModelStoreOptions model_options;
  absl::Duration heartbeat_interval = absl::Milliseconds(20);
  uint64_t epochs_of_absent = 1'000;  // Weights of such epochs are accepted although no learner has them.

  std::string address = "127.0.0.1:0";
  const TemporaryFolder folder;
  SeatGiver seats;
  std::atomic<int> named{0};
  Metrics metrics;
  std::unique_ptr<ModelStore> models;
  std::unique_ptr<HubState> state;
  std::unique_ptr<WeightsFolder> newest_weights;
  std::unique_ptr<WeightsFolder> best_weights;
  std::unique_ptr<Hub> hub;
  std::unique_ptr<ModelService> model_service;
  std::unique_ptr<WorkerService> worker_service;
  std::unique_ptr<RpcServer> server;
};

}  // namespace waggle::testing
