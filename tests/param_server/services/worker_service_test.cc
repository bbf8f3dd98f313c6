#include "param_server/services/worker_service.h"

#include <sys/stat.h>

#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/build_info.h"
#include "common/base/threads/thread.h"
#include "common/hub/hub_convert.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/net/unary_call.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/param_server.h"

namespace waggle {
namespace {

// A server and a raw client.
struct Fixture {
  explicit Fixture(int64_t max_env_steps = 0) {
    server.plan.stop.max_env_steps = max_env_steps;
    server.Start();
    stub = v1::WorkerService::NewStub(NewChannel(server.address, "test"));
  }

  template <class Request, class Response>
  absl::StatusOr<Response> Call(StubMethod<v1::WorkerService::Stub, Request, Response> method, const Request& request) {
    return CallUnary(stub.get(), method, request, absl::Seconds(30));
  }
  absl::StatusOr<v1::JoinResponse> Join(const v1::JoinRequest& request) {
    return Call(&v1::WorkerService::Stub::Join, request);
  }
  // The join request of a worker with an order.
  v1::JoinRequest Ordered(Role role, const std::string& worker_id = "w1") {
    server.Order(role, worker_id);
    v1::JoinRequest request;
    request.set_worker_id(worker_id);
    return request;
  }
  absl::StatusOr<v1::HeartbeatResponse> Heartbeat(const v1::HeartbeatRequest& request) {
    return Call(&v1::WorkerService::Stub::Heartbeat, request);
  }
  absl::StatusOr<v1::TakeStepsResponse> TakeSteps(const v1::TakeStepsRequest& request) {
    return Call(&v1::WorkerService::Stub::TakeSteps, request);
  }
  v1::OverviewResponse Overview() {
    return testing::ValueOf(Call(&v1::WorkerService::Stub::Overview, v1::OverviewRequest()));
  }

  testing::ParamServer server;
  std::unique_ptr<v1::WorkerService::Stub> stub;
};

TEST_CASE("The overview shows all reports of a worker", "[grpc]") {
  Fixture fixture;
  const v1::JoinResponse joined = testing::ValueOf(fixture.Join(fixture.Ordered(Role::kLearner)));
  CHECK(joined.index() == 0);
  CHECK(joined.epoch() == 1);
  CHECK(joined.heartbeat_interval_ms() == 20);
  CHECK(joined.assignment().run_state() == v1::RUN_STATE_RUNNING);
  CHECK(joined.assignment().experiment_yaml() == "the experiment");
  CHECK(joined.assignment().actors() == 1);

  REQUIRE_OK(fixture.server.models->Publish(testing::MakeModel("x", {1, 9})));
  v1::HeartbeatRequest beat;
  beat.set_worker_id("w1");
  beat.set_activity("training");
  beat.set_last_error(std::string(5'000, 'e'));
  (*beat.mutable_counters())["learner_steps"] = 10;
  (*beat.mutable_gauges())["algorithm/loss"] = 0.5;
  beat.set_taken_at_us(1'000'000);
  v1::Evaluation* const evaluation = beat.add_evaluations();
  evaluation->set_episodes(20);
  *evaluation->mutable_version() = ToProto(ModelVersion{1, 9});
  evaluation->set_mean_return(12.5);
  evaluation->set_finished_at_us(123);
  REQUIRE_OK(fixture.Heartbeat(beat));
  beat.set_taken_at_us(3'000'000);
  (*beat.mutable_counters())["learner_steps"] = 30;
  CHECK(testing::ValueOf(fixture.Heartbeat(beat)).assignment().model_version().version() == 9);

  const v1::OverviewResponse overview = fixture.Overview();
  CHECK(overview.run_state() == v1::RUN_STATE_RUNNING);
  CHECK(overview.experiment_name() == "x");
  CHECK(overview.model() == "x");
  CHECK(overview.model_version().version() == 9);
  CHECK(overview.model_bytes() == 56);
  CHECK(overview.learner_steps() == 30);
  CHECK(overview.software_version() == kVersion);
  REQUIRE(overview.evaluations_size() == 1);
  CHECK(overview.evaluations(0).mean_return() == 12.5);
  CHECK(overview.evaluations(0).finished_at_us() == 123);
  CHECK(overview.result().evaluation().mean_return() == 12.5);
  CHECK_FALSE(overview.result().confirmed());
  REQUIRE(overview.workers_size() == 2);
  const v1::WorkerInfo& worker = overview.workers(0);
  CHECK(worker.worker_id() == "w1");
  CHECK(worker.role() == v1::ROLE_LEARNER);
  CHECK(worker.process_id() == 77);
  CHECK(worker.host() == "h");
  CHECK(worker.activity() == "training");
  CHECK(worker.last_error() == std::string(kMaxFailureBytes, 'e'));
  CHECK(worker.gauges().at("algorithm/loss") == 0.5);
  CHECK(worker.rates().at("learner_steps") == Approx(10));
  CHECK(worker.alive());
  CHECK(overview.workers(1).role() == v1::ROLE_PARAM_SERVER);
  CHECK(overview.figures().at("algorithm/loss") == 0.5);
  CHECK(overview.figures().at("learner/steps") == 30);
  CHECK(overview.figures().at("learner/steps_per_s") == Approx(10));
  CHECK(overview.figures().at("model/version") == 9);
  CHECK(overview.figures_unrecorded().empty());

  v1::LeaveRequest leave;
  leave.set_worker_id("w1");
  REQUIRE_OK(fixture.Call(&v1::WorkerService::Stub::Leave, leave));
  CHECK_FALSE(fixture.Overview().workers(0).alive());
}

v1::Assignment Next(BlockingStream* stream) {
  grpc::ByteBuffer buffer;
  REQUIRE(stream->Read(&buffer));
  Message<v1::Assignment> message;
  REQUIRE_OK(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
  return message.header;
}

TEST_CASE("A worker that watches gets news at once", "[grpc]") {
  Fixture fixture;
  v1::WatchWorkerRequest request;
  request.set_worker_id("w1");
  constexpr char kWatch[] = "/waggle.v1.WorkerService/Watch";
  const auto channel = NewChannel(fixture.server.address, "test");
  BlockingStream early(channel, kWatch, absl::Minutes(2), StopToken());
  REQUIRE(early.WriteLast(EncodeMessage(request, ByteSlices())));
  grpc::ByteBuffer nothing;
  CHECK_FALSE(early.Read(&nothing));
  CHECK(early.Finish().code() == absl::StatusCode::kNotFound);

  const v1::JoinResponse joined = testing::ValueOf(fixture.Join(fixture.Ordered(Role::kLearner)));
  BlockingStream watch(channel, kWatch, absl::Minutes(2), StopToken());
  REQUIRE(watch.WriteLast(EncodeMessage(request, ByteSlices())));
  const v1::Assignment first = Next(&watch);
  CHECK(first.run_state() == v1::RUN_STATE_RUNNING);
  CHECK(first.experiment_yaml().empty());
  CHECK(first.said_at_us() >= joined.assignment().said_at_us());
  v1::HeartbeatRequest beat;
  beat.set_worker_id("w1");
  beat.set_failure("no such device");
  REQUIRE_OK(fixture.Heartbeat(beat));
  CHECK(Next(&watch).run_state() == v1::RUN_STATE_FAILED);
}

TEST_CASE("Only the answer to a join has the experiment", "[grpc]") {
  Fixture fixture;
  const v1::JoinResponse joined = testing::ValueOf(fixture.Join(fixture.Ordered(Role::kActor)));
  CHECK(joined.assignment().experiment_yaml() == "the experiment");
  v1::HeartbeatRequest beat;
  beat.set_worker_id("w1");
  const v1::HeartbeatResponse response = testing::ValueOf(fixture.Heartbeat(beat));
  CHECK(response.assignment().experiment_yaml().empty());
}

TEST_CASE("Joins that wait for the disk delay no other calls", "[grpc]") {
  Fixture fixture;
  REQUIRE_OK(fixture.Join(fixture.Ordered(Role::kActor, "a")));
  // Writing blocks until a reader opens the pipe.
  const std::string path = fixture.server.folder.File("hub.state.new");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  constexpr int kLearners = 64;  // More than a server has threads for calls.
  std::vector<absl::StatusOr<v1::JoinResponse>> joined(kLearners);
  std::vector<Thread> threads;
  for (int i = 0; i < kLearners; ++i) {
    const v1::JoinRequest learner = fixture.Ordered(Role::kLearner, absl::StrCat("l", i));
    threads.emplace_back("learner", [&fixture, &joined, i, learner] { joined[i] = fixture.Join(learner); });
  }
  v1::JoinRequest replay = fixture.Ordered(Role::kReplayServer, "r");
  replay.set_address("10.0.0.1:7001");
  v1::HeartbeatRequest beat;
  beat.set_worker_id("a");
  absl::Status others;
  for (int i = 0; i < 200 && others.ok(); ++i) {
    others = fixture.Join(replay).status();
    others.Update(fixture.Heartbeat(beat).status());
  }
  std::ifstream(path).get();
  threads.clear();
  REQUIRE_OK(others);
  // The learner whose save met the pipe is refused; all others have an epoch of their own.
  std::set<uint64_t> epochs;
  for (const absl::StatusOr<v1::JoinResponse>& each : joined) {
    if (each.ok()) {
      epochs.insert(each->epoch());
    }
  }
  CHECK(epochs.size() == kLearners - 1);
  CHECK(*epochs.rbegin() == kLearners - 1);
}

TEST_CASE("An actor gets its life, the run's steps and a lease", "[grpc]") {
  Fixture fixture(1'000);
  v1::JoinResponse joined = testing::ValueOf(fixture.Join(fixture.Ordered(Role::kActor)));
  CHECK(joined.life() == 0);
  CHECK(joined.env_steps() == 0);
  v1::TakeStepsRequest request;
  request.set_worker_id("w1");
  request.set_used(16);
  request.set_allowed(20);
  request.set_block(100);
  request.set_rate(1e6);
  CHECK(testing::ValueOf(fixture.TakeSteps(request)).allowed() == 16 + 984 / 2);
  request.set_used(std::numeric_limits<uint64_t>::max());
  REQUIRE_CODE(fixture.TakeSteps(request), absl::StatusCode::kInvalidArgument);

  v1::JoinRequest second = fixture.Ordered(Role::kActor, "w2");
  second.set_life(7);
  joined = testing::ValueOf(fixture.Join(second));
  CHECK(joined.index() == 1);
  CHECK(joined.life() == 7);
  CHECK(joined.env_steps() == 16);
}

TEST_CASE("A wrong report of a worker is refused with the reason", "[grpc]") {
  Fixture fixture;
  v1::JoinRequest unknown;
  unknown.set_worker_id("w9");
  REQUIRE_CODE(fixture.Join(unknown), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(fixture.Join(fixture.Ordered(Role::kReducer, "r")), absl::StatusCode::kInvalidArgument);
  v1::HeartbeatRequest beat;
  beat.set_worker_id("w1");
  REQUIRE_CODE(fixture.Heartbeat(beat), absl::StatusCode::kNotFound);
  REQUIRE_OK(fixture.Join(fixture.Ordered(Role::kActor)));
  beat.mutable_environment()->set_name("x");
  REQUIRE_CODE(fixture.Heartbeat(beat), absl::StatusCode::kInvalidArgument);
  beat.clear_environment();
  beat.add_evaluations();
  CHECK_THAT(std::string(fixture.Heartbeat(beat).status().message()), Catch::Contains("at least one episode"));
  beat.clear_evaluations();
  (*beat.mutable_counters())["env_steps"] = -5;
  CHECK_THAT(std::string(fixture.Heartbeat(beat).status().message()), Catch::Contains("env_steps: got -5"));
}

TEST_CASE("A request of megabytes is refused before it is parsed", "[grpc]") {
  Fixture fixture;
  const int workers = fixture.Overview().workers_size();
  v1::JoinRequest join = fixture.Ordered(Role::kActor);
  join.set_address(std::string(2 << 20, 'x'));
  REQUIRE_CODE(fixture.Join(join), absl::StatusCode::kResourceExhausted);
  v1::HeartbeatRequest beat;
  for (int i = 0; i < (2 << 20) / 2; ++i) {
    beat.add_evaluations();  // Two bytes each on the wire, many times that in memory.
  }
  REQUIRE_CODE(fixture.Heartbeat(beat), absl::StatusCode::kResourceExhausted);
  CHECK(fixture.Overview().workers_size() == workers);
}

}  // namespace
}  // namespace waggle
