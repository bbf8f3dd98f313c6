#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/hub/gradients/gradient_link.h"
#include "common/hub/gradients/gradient_sink.h"
#include "common/net/server.h"
#include "param_server/gradients/gradient_reducer.h"
#include "param_server/gradients/gradient_runner.h"
#include "param_server/gradients/gradient_service.h"
#include "tests/param_server/gradients/gradient_fixture.h"

namespace waggle::testing {

constexpr char kExperiment[] = "pushed-1";

// A primary that serves in this process and keeps its port over restarts.
class PrimaryServer {
 public:
  PrimaryServer(const GradientPrimaryOptions& options, std::vector<float> weights)
      : options_(options), weights_(std::move(weights)) {}
  ~PrimaryServer() { Stop(); }

  // Goes on from `checkpoint` and `settled`.
  void Start(const CheckpointContents* checkpoint = nullptr, const std::string& settled = "") {
    core = std::make_unique<PrimaryCore>(options_, weights_, ValueOf(SettledGradients::FromText(settled)));
    if (checkpoint != nullptr) {
      REQUIRE_OK(core->parameters->Restore(*checkpoint));
    }
    service = std::make_unique<GradientService>();
    service->Begin("primary", kExperiment, &core->metrics);
    runner = std::make_unique<GradientRunner>();
    runner->Start(&core->core);
    service->SetTaker(runner.get(), model());
    server = ValueOf(RpcServer::Start(address, {service.get()}));
    address = server->address();
  }
  // Stops like a killed process.
  void Stop() {
    if (server != nullptr) {
      server->Shutdown(absl::ZeroDuration());
    }
    server.reset();
    if (runner != nullptr) {
      runner->Stop();
    }
    runner.reset();
    service.reset();
  }

  GradientModel model() const { return ModelOf(weights_.size()); }

  std::string address = "127.0.0.1:0";
  std::unique_ptr<PrimaryCore> core;  // Only its thread uses it while it serves.
  std::unique_ptr<GradientService> service;
  std::unique_ptr<GradientRunner> runner;
  std::unique_ptr<RpcServer> server;

 private:
  const GradientPrimaryOptions options_;
  const std::vector<float> weights_;
};

// A reducer that serves in this process.
class ReducerServer {
 public:
  ReducerServer(const GradientReducerOptions& options, const PrimaryServer* primary)
      : link(NewGradientLink(kExperiment, [primary](int64_t) { return primary->address; })),
        core(options, link.get(), &metrics, [this](std::function<void()> task) { runner.Post(std::move(task)); }) {
    runner.Start(&core);
    service.Begin("reducer", kExperiment, &metrics);
    service.SetTaker(&runner, primary->model());
    server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  }
  ~ReducerServer() {
    server->Shutdown(absl::ZeroDuration());
    server.reset();
    runner.Stop();
    link.reset();
  }

  const std::string& address() const { return server->address(); }

  Metrics metrics;
  GradientRunner runner;
  std::unique_ptr<GradientTaker> link;
  GradientReducer core;
  GradientService service;
  std::unique_ptr<RpcServer> server;
};

// A worker that pushes to the first of the addresses that answers.
struct PushingWorker {
  PushingWorker(const std::string& name, GradientModel model, std::vector<std::string> addresses,
                int64_t max_unacknowledged = 4, const std::string& experiment = kExperiment)
      : link(NewGradientLink(experiment,
                             [addresses = std::move(addresses)](int64_t failed) {
                               return addresses[static_cast<size_t>(failed) % addresses.size()];
                             })),
        sink(NewGradientSink({std::move(model), name, 0, max_unacknowledged}, link.get(), &metrics)) {}

  void Push(const std::vector<float>& gradient, ModelVersion based_on = {1, 0}) {
    REQUIRE_OK(sink->Push(Numbers(gradient), based_on, StopToken()));
  }
  GradientCounts Finish() {
    REQUIRE_OK(sink->Flush(absl::Minutes(2), StopToken()));
    return sink->counts();
  }

  Metrics metrics;
  std::unique_ptr<GradientTaker> link;
  std::unique_ptr<GradientSink> sink;
};

}  // namespace waggle::testing
