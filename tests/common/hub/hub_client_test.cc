#include "common/hub/hub_client.h"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/eventually.h"
#include "tests/support/param_server.h"

namespace waggle {
namespace {

using testing::ValueOf;

constexpr absl::Duration kPatience = absl::Seconds(30);

EnvironmentSpec SomeEnvironment(int64_t actions = 2) {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", actions)};
  return environment;
}

Evaluation Greedy(double mean_return) {
  Evaluation evaluation;
  evaluation.version = {1, 7};
  evaluation.episodes = 20;
  evaluation.mean_return = mean_return;
  return evaluation;
}

const WorkerView* Find(const HubOverview& overview, Role role) {
  for (const WorkerView& worker : overview.workers) {
    if (worker.introduction.role == role) {
      return &worker;
    }
  }
  return nullptr;
}

TEST_CASE("Workers find each other by pushed news, in any order of starting", "[grpc]") {
  testing::ParamServer server;
  server.heartbeat_interval = absl::Hours(1);
  server.Start();
  server.Stop();  // Its port stays known.
  absl::StatusOr<std::unique_ptr<HubLink>> early = absl::UnknownError("not joined");
  const StopToken stop;
  const HubClientOptions first = server.Order(Role::kLearner);
  Thread joining("early", [&] { early = JoinHub(first, stop); });
  const absl::Cleanup give_up = [&stop] { stop.RequestStop(); };
  server.Start();
  joining.Join();
  const auto learner = ValueOf(std::move(early));
  const auto actor = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  actor->ReportEnvironment(SomeEnvironment());
  const auto replay = ValueOf(JoinHub(server.Order(Role::kReplayServer), stop));
  const Assignment assignment = ValueOf(learner->WaitUntil(
      [](const Assignment& current) { return current.environment.has_value() && !current.replay_servers.empty(); },
      stop));
  CHECK(assignment.environment == SomeEnvironment());
  CHECK(assignment.replay_servers == std::vector<std::string>{"10.0.0.1:7001"});
  CHECK(assignment.experiment_yaml == "the experiment");
  CHECK(assignment.epoch == 1);
  CHECK(learner->assignment().index == 0);
  CHECK_FALSE(learner->run_over().StopRequested());
}

TEST_CASE("Every worker learns that the run is over", "[grpc]") {
  testing::ParamServer server;
  server.plan.stop.target_return = 100;
  server.Start();
  const StopToken stop;
  const auto actor = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  const auto evaluator = ValueOf(JoinHub(server.Order(Role::kEvaluator), stop));
  REQUIRE_OK(server.models->Publish(testing::MakeModel("x", Greedy(0).version)));
  evaluator->ReportEvaluation(Greedy(10));
  evaluator->ReportEvaluation(Greedy(100));
  evaluator->ReportEvaluation(Greedy(101));
  REQUIRE(actor->run_over().WaitFor(kPatience));
  REQUIRE(evaluator->run_over().WaitFor(kPatience));
  const auto never = [](const Assignment&) { return false; };
  const absl::Status over = actor->WaitUntil(never, stop).status();
  CHECK(over.code() == absl::StatusCode::kCancelled);
  CHECK_THAT(std::string(over.message()), Catch::Contains("solved"));
  CHECK(ValueOf(actor->WaitUntil([](const Assignment&) { return true; }, stop)).run_state == RunState::kSolved);
  CHECK(actor->assignment().experiment_yaml == "the experiment");  // Though no heartbeat brought it again.
  const HubOverview overview = server.hub->Overview();
  REQUIRE(overview.evaluations.size() == 3);  // Each counts once, though it may have been sent twice.
  CHECK(overview.evaluations[2].evaluation.mean_return == 101);
  CHECK(actor->assignment().result->evaluation.mean_return == 101);
}

TEST_CASE("The end of training and of the run comes without waiting for a heartbeat", "[grpc]") {
  testing::ParamServer server;
  server.heartbeat_interval = absl::Hours(1);
  server.plan.stop.max_env_steps = 100;
  server.Start();
  const StopToken stop;
  const auto evaluator = ValueOf(JoinHub(server.Order(Role::kEvaluator), stop));
  const auto learner = ValueOf(JoinHub(server.Order(Role::kLearner), stop));
  Metrics metrics;
  HubClientOptions actor_options = server.Order(Role::kActor);
  actor_options.metrics = &metrics;
  const auto actor = ValueOf(JoinHub(actor_options, stop));
  metrics.Add("env_steps", 100);
  actor->ReportEnvironment(SomeEnvironment());  // Hurries a heartbeat.
  REQUIRE(learner->training_over().WaitFor(kPatience));
  REQUIRE(evaluator->training_over().WaitFor(kPatience));
  CHECK(learner->assignment().run_state == RunState::kFinishing);
  CHECK(learner->assignment().experiment_yaml == "the experiment");
  CHECK_FALSE(evaluator->run_over().StopRequested());
  REQUIRE_OK(server.models->Publish(testing::MakeModel("x", Greedy(0).version)));
  learner->ReportFinalVersion(Greedy(0).version);
  evaluator->ReportEvaluation(Greedy(10));
  REQUIRE(actor->run_over().WaitFor(kPatience));
  REQUIRE(learner->run_over().WaitFor(kPatience));
  CHECK(actor->assignment().run_state == RunState::kLimit);
}

TEST_CASE("A restarted hub sends news too", "[grpc]") {
  testing::ParamServer server;
  server.plan.stop.max_env_steps = 100;
  server.Start();
  const StopToken stop;
  Metrics metrics;
  HubClientOptions options = server.Order(Role::kActor);
  options.metrics = &metrics;
  const auto actor = ValueOf(JoinHub(options, stop));
  server.Stop();
  server.Start();
  const auto other = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  REQUIRE_OK(other->WaitUntil([](const Assignment& current) { return current.actors == 2; }, stop));
  metrics.Add("env_steps", 100);
  REQUIRE(other->run_over().WaitFor(kPatience));
  CHECK(other->assignment().run_state == RunState::kLimit);
}

TEST_CASE("A failure that a learner reports ends the run for the others", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const StopToken stop;
  const auto actor = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  const auto learner = ValueOf(JoinHub(server.Order(Role::kLearner), stop));
  learner->ReportFailure(absl::InvalidArgumentError("no such device"));
  learner->Leave(absl::Seconds(30));
  REQUIRE(actor->run_over().WaitFor(kPatience));
  CHECK(actor->assignment().run_state == RunState::kFailed);
  CHECK_THAT(server.hub->Overview().outcome_reason, Catch::Contains("no such device"));
}

TEST_CASE("A worker that the hub refuses stops with the refusal", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const StopToken stop;
  const auto first = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  first->ReportEnvironment(SomeEnvironment(2));
  REQUIRE_OK(first->WaitUntil([](const Assignment& current) { return current.environment.has_value(); }, stop));
  const auto second = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  second->ReportEnvironment(SomeEnvironment(2));  // Known already, and the same.
  const auto third = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  // The hub knows an environment by then, but this worker's is still sent.
  third->ReportEnvironment(SomeEnvironment(3));
  REQUIRE(third->run_over().WaitFor(kPatience));
  const absl::Status refused = third->WaitUntil([](const Assignment&) { return true; }, stop).status();
  CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("3 choices") && Catch::Contains("2 choices"));
  CHECK_FALSE(first->run_over().StopRequested());
  third->Leave(absl::Seconds(30));
}

TEST_CASE("A hub that is restarted finds its workers again", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const StopToken stop;
  const auto learner = ValueOf(JoinHub(server.Order(Role::kLearner), stop));
  const auto replay = ValueOf(JoinHub(server.Order(Role::kReplayServer), stop));
  Metrics metrics;
  metrics.Add("env_steps", 123);
  const auto actor0 = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  HubClientOptions actor_options = server.Order(Role::kActor);
  actor_options.metrics = &metrics;
  const auto actor1 = ValueOf(JoinHub(actor_options, stop));
  actor1->ReportEnvironment(SomeEnvironment());
  REQUIRE_OK(learner->WaitUntil([](const Assignment& current) { return current.environment.has_value(); }, stop));
  server.Stop();
  actor1->ReportEvaluation(Greedy(7));  // The hub is away.
  server.Start();

  const auto second = ValueOf(JoinHub(server.Order(Role::kLearner), stop));
  CHECK(second->assignment().epoch == 2);
  CHECK(learner->assignment().epoch == 1);
  const Assignment assignment = ValueOf(second->WaitUntil(
      [](const Assignment& current) {
        return current.actors == 2 && current.environment.has_value() && current.replay_servers.size() == 1;
      },
      stop));
  CHECK(assignment.environment == SomeEnvironment());
  CHECK(actor1->assignment().index == 1);
  actor1->Leave(absl::Seconds(30));
  const HubOverview overview = server.hub->Overview();
  CHECK(overview.env_steps == 123);
  REQUIRE(overview.evaluations.size() == 1);
  CHECK(overview.evaluations[0].evaluation.mean_return == 7);
}

TEST_CASE("An actor keeps its life over a restart of the hub, and one that comes after it has another", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const StopToken stop;
  const auto actor = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  CHECK(actor->assignment().life == 0);
  server.Stop();
  server.Start();
  testing::Eventually("the actor at the new hub",
                      [&server] { return Find(server.hub->Overview(), Role::kActor) != nullptr; });
  actor->Leave(absl::Seconds(30));
  CHECK(actor->assignment().life == 0);
  const auto next = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  CHECK(next->assignment().index == 0);
  CHECK(next->assignment().life == 1);
}

TEST_CASE("An actor asks for steps, also of a hub that was restarted", "[grpc]") {
  testing::ParamServer server;
  server.plan.stop.max_env_steps = 1'000;
  server.Start();
  const StopToken stop;
  const auto actor = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  StepRequest request;
  request.block = 100;
  CHECK(ValueOf(actor->TakeSteps(request, stop)) == 100);
  server.Stop();
  CHECK(actor->TakeSteps(request, stop).status().code() == absl::StatusCode::kUnavailable);
  server.Start();
  request = {90, 100, 100, 0};
  absl::StatusOr<int64_t> allowed;
  testing::Eventually("steps of the new hub", [&] {
    allowed = actor->TakeSteps(request, stop);
    return allowed.ok() || !absl::IsUnavailable(allowed.status());
  });
  CHECK(ValueOf(allowed) == 190);
  CHECK(server.hub->Overview().env_steps == 90);
  stop.RequestStop();
  CHECK(actor->TakeSteps(request, stop).status().code() == absl::StatusCode::kCancelled);
}

// Answers its first heartbeats with the codes of a hub that is stopping or restarting.
class StoppingHub final : public v1::WorkerService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const v1::JoinRequest* /*request*/,
                                 v1::JoinResponse* response) override {
    response->set_heartbeat_interval_ms(1);
    response->mutable_assignment()->set_run_state(v1::RUN_STATE_RUNNING);
    return Finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context, const v1::HeartbeatRequest* /*request*/,
                                      v1::HeartbeatResponse* response) override {
    constexpr grpc::StatusCode kCodes[] = {grpc::StatusCode::CANCELLED, grpc::StatusCode::UNAVAILABLE,
                                           grpc::StatusCode::INTERNAL, grpc::StatusCode::NOT_FOUND};
    const size_t beat = beats_++;
    response->mutable_assignment()->set_run_state(v1::RUN_STATE_RUNNING);
    response->mutable_assignment()->set_actors(5);
    return Finish(context, beat < std::size(kCodes) ? grpc::Status(kCodes[beat], "stopping") : grpc::Status::OK);
  }

 private:
  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
  std::atomic<size_t> beats_{0};
};

TEST_CASE("A hub that is stopping does not refuse its workers", "[grpc]") {
  StoppingHub service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  HubClientOptions options;
  options.hub_address = server->address();
  options.worker_id = "w";
  const auto link = ValueOf(JoinHub(options, StopToken()));
  REQUIRE_OK(link->WaitUntil([](const Assignment& current) { return current.actors == 5; }, StopToken()));
  CHECK_FALSE(link->run_over().StopRequested());
}

// Counts heartbeats. Asks only the worker "clock" for many.
class CountingHub final : public v1::WorkerService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const v1::JoinRequest* request,
                                 v1::JoinResponse* response) override {
    response->set_heartbeat_interval_ms(request->worker_id() == "clock" ? 20 : 3'600'000);
    response->mutable_assignment()->set_run_state(v1::RUN_STATE_RUNNING);
    return Finish(context);
  }
  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context, const v1::HeartbeatRequest* request,
                                      v1::HeartbeatResponse* response) override {
    response->mutable_assignment()->set_run_state(v1::RUN_STATE_RUNNING);
    MutexLock lock(&mutex_);
    ++beats_[request->worker_id()];
    return Finish(context);
  }
  int64_t Beats(const std::string& worker_id) {
    MutexLock lock(&mutex_);
    return beats_[worker_id];
  }

 private:
  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  Mutex mutex_;
  std::map<std::string, int64_t> beats_ ABSL_GUARDED_BY(mutex_);
};

TEST_CASE("A worker that waits for news sends no more heartbeats than one that does not", "[grpc]") {
  CountingHub service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  HubClientOptions options;
  options.hub_address = server->address();
  options.worker_id = "waiting";
  const auto waiting = ValueOf(JoinHub(options, StopToken()));
  options.worker_id = "clock";
  const auto clock = ValueOf(JoinHub(options, StopToken()));
  const StopToken stop;
  const Thread waiter("waiter",
                      [&] { waiting->WaitUntil([](const Assignment&) { return false; }, stop).IgnoreError(); });
  const absl::Cleanup end = [&stop] { stop.RequestStop(); };
  testing::Eventually("half a second of heartbeats", [&service] { return service.Beats("clock") >= 25; });
  CHECK(service.Beats("waiting") == 0);
}

TEST_CASE("A young actor's steps are reported soon, without waiting for a heartbeat", "[grpc]") {
  CountingHub service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  HubClientOptions options;
  options.hub_address = server->address();
  options.worker_id = "young";
  const auto young = ValueOf(JoinHub(options, StopToken()));
  CHECK(service.Beats("young") == 0);
  young->ReportFirstStep();
  testing::Eventually("heartbeats", [&service] { return service.Beats("young") >= 5; });
}

TEST_CASE("A server that is not a hub is an error at once, with its address", "[grpc]") {
  const auto other = ValueOf(RpcServer::Start("127.0.0.1:0", {}));
  HubClientOptions options;
  options.hub_address = other->address();
  options.worker_id = "w";
  Metrics metrics;
  options.metrics = &metrics;
  const absl::Status status = JoinHub(options, StopToken()).status();
  REQUIRE_CODE(status, absl::StatusCode::kUnimplemented);
  CHECK_THAT(std::string(status.message()),
             Catch::StartsWith("there is no parameter server at " + other->address() + ": the server does not know"));
}

TEST_CASE("A dismissed worker gets the reason, and stops", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const HubClientOptions options = server.Order(Role::kActor);
  const auto actor = ValueOf(JoinHub(options, StopToken()));
  server.hub->Dismiss(options.worker_id, "it was silent");
  REQUIRE(actor->run_over().WaitFor(kPatience));
  const absl::Status refused = actor->WaitUntil([](const Assignment&) { return true; }, StopToken()).status();
  REQUIRE_CODE(refused, absl::StatusCode::kAlreadyExists);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("it was silent"));
  REQUIRE_CODE(JoinHub(options, StopToken()), absl::StatusCode::kAlreadyExists);
}

TEST_CASE("A worker joins as soon as the hub knows of its order", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  HubClientOptions options;
  options.hub_address = server.address;
  options.worker_id = "w";
  absl::StatusOr<std::unique_ptr<HubLink>> joined = absl::UnknownError("not joined");
  {
    const Thread joining("joining", [&] { joined = JoinHub(options, StopToken()); });
    server.Order(Role::kActor, "w");
  }
  CHECK(ValueOf(std::move(joined))->assignment().index == 0);
}

TEST_CASE("The last figures arrive with the goodbye", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  Metrics metrics;
  HubClientOptions options = server.Order(Role::kActor);
  options.metrics = &metrics;
  const auto actor = ValueOf(JoinHub(options, StopToken()));
  metrics.Add("env_steps", 42);
  metrics.Set("return_mean", 1.5);
  metrics.SetActivity("leaving");
  actor->Leave(absl::Seconds(30));
  const HubOverview overview = server.hub->Overview();
  const WorkerView* const seen = Find(overview, Role::kActor);
  REQUIRE(seen != nullptr);
  CHECK_FALSE(seen->alive);
  CHECK(seen->figures->counters.at("env_steps") == 42);
  CHECK(seen->figures->gauges.at("return_mean") == 1.5);
  CHECK(seen->figures->activity == "leaving");
  CHECK(overview.env_steps == 42);
  CHECK(actor->WaitUntil([](const Assignment&) { return true; }, StopToken()).status().code() ==
        absl::StatusCode::kCancelled);
}

TEST_CASE("Calls wait no longer than their limits if there is no hub", "[grpc]") {
  HubClientOptions options;
  options.hub_address = "127.0.0.1:1";
  options.worker_id = "w";
  const StopToken stop;
  absl::Status stopped;
  {
    const Thread joining("joining", [&] { stopped = JoinHub(options, stop).status(); });
    stop.RequestStop();
  }
  CHECK(stopped.code() == absl::StatusCode::kCancelled);

  testing::ParamServer server;
  server.Start();
  const auto link = ValueOf(JoinHub(server.Order(Role::kActor), StopToken()));
  server.Stop();
  link->Leave(absl::Milliseconds(100));  // Returns although the hub is away.
}

TEST_CASE("A stop of the process ends waiting, and the run as the worker sees it", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const StopToken stop;
  const auto link = ValueOf(JoinHub(server.Order(Role::kActor), stop));
  absl::Status waited;
  {
    const Thread waiter("waiter",
                        [&] { waited = link->WaitUntil([](const Assignment&) { return false; }, stop).status(); });
    stop.RequestStop();
  }
  CHECK(waited.code() == absl::StatusCode::kCancelled);
  CHECK(link->run_over().StopRequested());
}

TEST_CASE("Client options are checked, all at once", "[unit]") {
  HubClientOptions options;
  options.hub_address = "nowhere";
  options.address = "0.0.0.0:7001";
  const absl::Status status = options.Validate();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains("hub_address: \"nowhere\"") &&
                                                Catch::Contains("worker_id: ") && Catch::Contains("every address"));
  CHECK(JoinHub(options, StopToken()).status() == status);
}

}  // namespace
}  // namespace waggle
