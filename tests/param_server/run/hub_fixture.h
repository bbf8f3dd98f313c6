#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "param_server/run/hub.h"
#include "tests/param_server/seat_giver.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// A hub with a folder, and a clock that the test moves.
struct HubFixture {
  HubFixture() { Restart(); }

  void Stop() {
    seats.ForgetThoseWhoLeft(hub.get());
    hub.reset();
    newest.reset();
    best.reset();
    state.reset();
  }

  // Calls `meanwhile` while there is no hub.
  void Restart(const std::function<void()>& meanwhile = [] {}) { REQUIRE_OK(TryRestart(meanwhile)); }

  absl::Status TryRestart(const std::function<void()>& meanwhile = [] {}) {
    Stop();
    meanwhile();
    ModelStoreOptions model_options;
    model_options.clock = [this] { return now; };
    models = std::make_unique<ModelStore>(model_options);
    state = ValueOf(HubState::Open(folder.path()));
    newest = OpenWeights(kNewestModelFolder);
    best = OpenWeights(kBestModelFolder);
    RunPlan plan;
    plan.name = "x";
    plan.yaml = "the experiment";
    plan.stop.target_return = 100;
    plan.stop.max_env_steps = 1'000;
    plan.stop.max_seconds = 60;
    plan.lock_step = lock_step;
    plan.learners = learners;
    plan.keeps_items = keeps_items;
    HubOptions options;
    options.self.worker_id = "self";
    options.self.role = Role::kParamServer;
    options.metrics = &metrics;
    options.newest_weights = newest.get();
    options.best_weights = best.get();
    options.clock = [this] { return now; };
    if (note != nullptr) {
      options.note = note;
    }
    options.resumed = resumed;
    options.restoration = restoration;
    options.cut_folder = cut_folder.get();
    options.cut_folder = cut_folder.get();
    absl::StatusOr<std::unique_ptr<Hub>> created = Hub::Create(options, plan, state.get(), models.get());
    hub = created.ok() ? *std::move(created) : nullptr;
    if (hub != nullptr) {
      seats.OrderAgain(hub.get());
    }
    return created.status();
  }

  std::unique_ptr<WeightsFolder> OpenWeights(const std::string& name) const {
    WeightsFolderOptions options;
    options.folder = folder.File(name);
    options.retry_pause = absl::Milliseconds(1);
    return ValueOf(WeightsFolder::Open(options));
  }

  // Gives a worker an order and lets it join.
  Hub::Seat Join(const std::string& worker_id, Role role, const std::string& address = "") {
    return ValueOf(TryJoin({worker_id, address, 0, {}}, role));
  }
  absl::StatusOr<Hub::Seat> TryJoin(const WorkerArrival& arrival, Role role) {
    seats.Order(hub.get(), arrival.worker_id, role);
    return hub->Join(arrival);
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

  // Reports a failure of the worker; returns the run's state.
  RunState Fail(const std::string& worker_id, const std::string& failure) {
    WorkerReport report = Report(worker_id);
    report.failure = failure;
    return ValueOf(hub->Heartbeat(report)).run_state;
  }

  const TemporaryFolder folder;
  SeatGiver seats;
  std::optional<LockStepOptions> lock_step;  // For the next hub.
  int64_t learners = 1;                      // For the next hub.
  bool keeps_items = false;                  // For the next hub.
  bool resumed = false;
  std::optional<Restoration> restoration;        // For the next hub.
  std::unique_ptr<CutFolder> cut_folder;         // For the next hub; null: it has none.
  std::function<void(const std::string&)> note;  // For the next hub; called under its lock.
  Metrics metrics;
  absl::Time now = absl::FromUnixSeconds(1'000'000);
  std::unique_ptr<ModelStore> models;
  std::unique_ptr<HubState> state;
  std::unique_ptr<WeightsFolder> newest;
  std::unique_ptr<WeightsFolder> best;
  std::unique_ptr<Hub> hub;
};

}  // namespace waggle::testing
