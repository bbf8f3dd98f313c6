#include "param_server/gradients/primary_process.h"

#include <atomic>
#include <vector>

#include "common/base/threads/thread.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "param_server/gradient_processes.h"
#include "tests/param_server/gradients/gradient_fixture.h"
#include "tests/param_server/gradients/pushing_actor.h"
#include "tests/support/eventually.h"
#include "tests/support/param_server.h"

namespace waggle::testing {
namespace {

// Pushes gradients and waits for all answers.
void PushAll(PushingActor* actor, int count) {
  for (int i = 0; i < count; ++i) {
    REQUIRE_OK(actor->Push(StopToken()));
  }
  REQUIRE_OK(actor->sink->Flush(absl::Minutes(2), StopToken()));
}

// A hub and a network that plain gradient descent steps.
struct Fixture {
  explicit Fixture(const std::string& server, const std::string& stop = "{max_seconds: 1000}")
      : experiment(ValueOf(ParseExperiment("experiment: {name: pushed}\n"
                                           "algorithm: {name: a2c, normalize_returns: false,\n"
                                           "  optimizer: {type: sgd, learning_rate: 1, gradient_clip_norm: 0}}\n"
                                           "learner: {gradients: push, publish_period_steps: 1, gradient_server: {" +
                                               server + "}}\nstop: " + stop + "\n",
                                           "x.yaml", {}, BuiltinAlgorithmDefinitions()))),
        network(ValueOf(PlanExperiment(experiment, PushedEnvironment(), BuiltinAlgorithmDefinitions())).networks[0]) {
    hub.plan.name = "pushed";
    hub.plan.yaml = ToYaml(experiment);
    hub.plan.stop = experiment.stop;
    hub.plan.evaluates = false;
    hub.Start();
  }

  GradientProcessOptions Process() const {
    GradientProcessOptions options;
    options.listen = "127.0.0.1:0";
    options.hub_address = hub.address;
    return options;
  }

  // Like a process of the pool, until `end` or the end of the run.
  absl::Status Serve(Role role, const StopToken& end) { return ServeBy(Process(), role, end); }
  absl::Status ServeBy(const GradientProcessOptions& process, Role role, const StopToken& end) {
    static std::atomic<uint64_t> orders{0};
    WorkOrder order;
    order.number = ++orders;
    order.role = role;
    order.output_folder = folder.path();
    const std::string worker_id = RunWorkerId("gradient-worker", order.number);
    hub.Order(role, worker_id);
    const auto monitor = ValueOf(PoolMonitor::Start("", "reducer", {}));
    return ValueOf(GradientWork::Start(process, monitor.get()))->Do(order, worker_id, end);
  }

  ModelSnapshot FirstWeights() const {
    ModelSnapshot weights = PushingActor::FirstWeights(network);
    weights.model = "pushed";
    return weights;
  }

  std::unique_ptr<PushingActor> NewActor(const StopToken& stop) {
    return ValueOf(PushingActor::Join(hub.Order(Role::kActor), stop));
  }

  // Waits for weights of this step or a later one.
  ModelSnapshot AwaitStep(uint64_t step) const {
    const auto subscriber = NewGrpcModelSubscriber(hub.address, "pushed");
    std::optional<ModelSnapshot> newest;
    Eventually("weights of a step", [&] {
      newest = ValueOf(subscriber->PullNewer(std::nullopt, StopToken()));
      return newest.has_value() && newest->version.version >= step;
    });
    return *newest;
  }

  const Experiment experiment;
  const NetworkPlan network;
  ParamServer hub;
  const TemporaryFolder folder;
};

TEST_CASE("a primary and a reducer join a run, and pushed gradients step its weights", "[grpc]") {
  Fixture fixture("reducers: 1, batch: 2, reduce: sum, flush_seconds: 0.01");
  const StopToken stop;
  absl::Status primary_ended;
  absl::Status reducer_ended;
  {
    const Thread primary("primary", [&] { primary_ended = fixture.Serve(Role::kLearner, stop); });
    const Thread reducer("reducer", [&] { reducer_ended = fixture.Serve(Role::kReducer, stop); });
    const auto worker = fixture.NewActor(stop);
    PushAll(worker.get(), 20);
    const GradientCounts counts = worker->sink->counts();
    CHECK(counts.pushed == 20);
    CHECK(counts.applied == 20);
    Eventually("all in the weights", [&] { return ValuesOf(fixture.AwaitStep(1))[0] == -20; });
    CHECK(fixture.AwaitStep(1).version.epoch == 1);
    CHECK(fixture.AwaitStep(1).tensors == fixture.network.parameters);
    stop.RequestStop();
  }
  REQUIRE_OK(primary_ended);
  REQUIRE_OK(reducer_ended);
}

TEST_CASE("a primary steps by the settings, which are in its checkpoint", "[grpc]") {
  Fixture fixture("reduce: mean");
  const StopToken stop;
  absl::Status ended;
  {
    const Thread primary("primary", [&] { ended = fixture.Serve(Role::kLearner, stop); });
    const auto worker = fixture.NewActor(stop);
    uint64_t steps = 0;
    float before = 0;
    const auto moved = [&] {
      PushAll(worker.get(), 1);
      const float after = ValuesOf(fixture.AwaitStep(++steps))[0];
      return std::exchange(before, after) - after;
    };
    CHECK(moved() == 1);
    fixture.hub.hub->Set({"algorithm.optimizer.learning_rate=0.5\n", ""});
    Eventually("the setting", [&] { return moved() == 0.5; });
    stop.RequestStop();
  }
  REQUIRE_OK(ended);
  const auto store = ValueOf(CheckpointStore::OpenToRead(fixture.folder.File("checkpoints")));
  CHECK_THAT(ValueOf(store->LoadLatest())->texts.at(kCheckpointExperiment), Catch::Contains("learning_rate: 0.5\n"));
}

TEST_CASE("a restarted primary goes on from its checkpoint with all applied gradients", "[grpc]") {
  Fixture fixture("reduce: mean");
  const StopToken stop;
  std::unique_ptr<PushingActor> worker;
  for (int life = 1; life <= 2; ++life) {
    const StopToken end;
    absl::Status ended;
    {
      const Thread primary("primary", [&] { ended = fixture.Serve(Role::kLearner, end); });
      if (life == 1) {
        worker = fixture.NewActor(stop);
      }
      PushAll(worker.get(), 10);
      CHECK(worker->sink->counts().applied == 10 * life);
      CHECK(fixture.AwaitStep(static_cast<uint64_t>(10 * life)).version ==
            ModelVersion{static_cast<uint64_t>(life), static_cast<uint64_t>(10 * life)});
      end.RequestStop();
    }
    REQUIRE_OK(ended);
  }
  CHECK(ValuesOf(fixture.AwaitStep(20))[0] == -20);
  worker.reset();
  const auto store = ValueOf(CheckpointStore::OpenToRead(fixture.folder.File("checkpoints")));
  const CheckpointContents last = *ValueOf(store->LoadLatest());
  CHECK(last.step == 20);
  CHECK(last.texts.at(kCheckpointExperiment) == fixture.hub.plan.yaml);
}

// Watches the health of a server by one call, which ends if the server does.
class HealthWatch {
 public:
  explicit HealthWatch(const std::string& address)
      : stream_(NewChannel(address, "health"), "/grpc.health.v1.Health/Watch", absl::InfiniteDuration(), stop_) {
    grpc::ByteBuffer health;
    REQUIRE((stream_.WriteLast(EncodeMessage(v1::DescribeGradientsRequest(), ByteSlices())) && stream_.Read(&health)));
    reader_ = Thread("reader", [this] {
      grpc::ByteBuffer change;
      while (stream_.Read(&change)) {
      }
      ended_.RequestStop();
    });
  }
  ~HealthWatch() { stop_.RequestStop(); }

  bool goes_on() const { return !ended_.StopRequested(); }

 private:
  const StopToken stop_;
  const StopToken ended_;
  BlockingStream stream_;
  Thread reader_;
};

TEST_CASE("a gradient worker serves at the same address with and without an order", "[grpc]") {
  Fixture fixture("reduce: mean");
  GradientProcessOptions process = fixture.Process();
  process.listen = ValueOf(RpcServer::Start("127.0.0.1:0", {}))->address();  // A free port.
  const auto monitor = ValueOf(PoolMonitor::Start("", "reducer", {}));
  const auto work = ValueOf(GradientWork::Start(process, monitor.get()));
  CHECK(work->address() == process.listen);
  const auto taken = [&process] { return !RpcServer::Start(process.listen, {}).ok(); };
  CHECK(taken());
  const HealthWatch health(process.listen);
  for (uint64_t number = 1; number <= 2; ++number) {
    WorkOrder order;
    order.role = Role::kLearner;
    fixture.hub.Order(order.role, RunWorkerId("w", number));
    const StopToken end;
    absl::Status ended;
    {
      const Thread thread("order", [&] { ended = work->Do(order, RunWorkerId("w", number), end); });
      Eventually("it has joined", [&] {
        for (const WorkerView& worker : fixture.hub.hub->Overview().workers) {
          if (worker.introduction.worker_id == RunWorkerId("w", number)) {
            CHECK(worker.introduction.address == process.listen);
            return true;
          }
        }
        return false;
      });
      CHECK(taken());
      end.RequestStop();
    }
    CHECK((ended.ok() || absl::IsCancelled(ended)));  // `end` may come before the worker has joined.
    CHECK(work->address() == process.listen);
    CHECK(taken());
    HealthWatch again(process.listen);  // An end of the first call would have been seen by now.
    CHECK(health.goes_on());
  }
}

TEST_CASE("after the last step of a run a primary refuses gradients and reports its last version", "[grpc]") {
  Fixture fixture("reduce: mean", "{max_learner_steps: 5}");
  const StopToken stop;
  absl::Status ended;
  const auto worker = fixture.NewActor(stop);
  {
    const Thread primary("primary", [&] { ended = fixture.Serve(Role::kLearner, stop); });
    PushAll(worker.get(), 5);
    worker->hub->run_over().Wait();
    CHECK(worker->hub->assignment().run_state == RunState::kLimit);
  }
  REQUIRE_OK(ended);
  CHECK(worker->sink->counts().applied == 5);
  CHECK(fixture.AwaitStep(5).version.version == 5);
}

TEST_CASE("a primary gives up if gradients are local, or the weights are of another network", "[grpc]") {
  SECTION("local") {
    Fixture fixture("reduce: mean");
    Experiment local = fixture.experiment;
    local.learner.gradients = "local";
    fixture.hub.Stop();
    fixture.hub.plan.yaml = ToYaml(local);
    fixture.hub.Start();
    REQUIRE_CODE(fixture.Serve(Role::kLearner, StopToken()), absl::StatusCode::kFailedPrecondition);
  }
  SECTION("another network") {
    Fixture fixture("reduce: mean");
    ModelSnapshot wrong = fixture.FirstWeights();
    wrong.network_hash = 1;
    REQUIRE_OK(PublishFirst(wrong, NewGrpcModelPublisher(fixture.hub.address).get(), StopToken()));
    const StopToken stop;
    const auto worker = fixture.NewActor(stop);
    REQUIRE_CODE(fixture.Serve(Role::kLearner, stop), absl::StatusCode::kFailedPrecondition);
  }
}

}  // namespace
}  // namespace waggle::testing
