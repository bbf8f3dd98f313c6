#pragma once

#include <functional>
#include <memory>
#include <string>

#include "param_server/workers/hub.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// A hub on a folder, with a clock that the test moves.
struct HubFixture {
  HubFixture() { Restart(); }

  // `meanwhile` happens while there is no hub.
  void Restart(const std::function<void()>& meanwhile = [] {}) {
    hub.reset();
    state.reset();
    meanwhile();
    models = std::make_unique<ModelStore>(ModelStoreOptions());
    state = ValueOf(HubState::Open(folder.path()));
    RunPlan plan;
    plan.name = "x";
    plan.yaml = "the experiment";
    plan.stop.target_return = 100;
    plan.stop.max_env_steps = 1'000;
    plan.stop.max_seconds = 60;
    HubOptions options;
    options.self.worker_id = "self";
    options.self.role = Role::kParamServer;
    options.metrics = &metrics;
    options.clock = [this] { return now; };
    hub = ValueOf(Hub::Create(options, plan, state.get(), models.get()));
  }

  Hub::Seat Join(const std::string& worker_id, Role role, const std::string& address = "") {
    WorkerIntroduction introduction;
    introduction.worker_id = worker_id;
    introduction.role = role;
    introduction.address = address;
    return ValueOf(hub->Join(introduction));
  }

  absl::StatusOr<Assignment> Beat(const std::string& worker_id, double env_steps = 0) {
    return hub->Heartbeat(Report(worker_id, env_steps));
  }

  WorkerReport Report(const std::string& worker_id, double env_steps = 0) {
    WorkerReport report;
    report.worker_id = worker_id;
    report.figures.counters["env_steps"] = env_steps;
    report.figures.taken_at = now - absl::UnixEpoch();
    return report;
  }

  // The worker reports a failure; returns how the run stands then.
  RunState Fail(const std::string& worker_id, const std::string& failure) {
    WorkerReport report = Report(worker_id);
    report.failure = failure;
    return ValueOf(hub->Heartbeat(report)).run_state;
  }

  const TemporaryFolder folder;
  Metrics metrics;
  absl::Time now = absl::FromUnixSeconds(1'000'000);
  std::unique_ptr<ModelStore> models;
  std::unique_ptr<HubState> state;
  std::unique_ptr<Hub> hub;
};

}  // namespace waggle::testing
