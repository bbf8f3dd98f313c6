#include "param_server/gradients/gradient_service.h"

#include <cmath>
#include <thread>

#include "common/base/tensor/checksum.h"
#include "common/base/threads/thread.h"
#include "common/hub/gradients/gradient_convert.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "tests/param_server/gradients/gradient_servers.h"

namespace waggle::testing {
namespace {

GradientPrimaryOptions Options(bool mean, int64_t batch) {
  GradientPrimaryOptions options;
  options.mean = mean;
  options.batch = batch;
  return options;
}

TEST_CASE("two workers that push two gradients each step a chain of three weights by all four", "[grpc]") {
  // loss = w1 * w2 * w3 at w = (1, 2, 3): the gradient is (6, 3, 2).
  for (const bool mean : {false, true}) {
    GradientPrimaryOptions options = Options(mean, 2);
    options.flush_after = absl::Minutes(1);
    PrimaryServer primary(options, {1, 2, 3});
    primary.Start();
    ReducerServer one({2, absl::Minutes(1)}, &primary);
    ReducerServer two({2, absl::Minutes(1)}, &primary);
    PushingWorker a("a", ModelOf(3), {one.address()});
    PushingWorker b("b", ModelOf(3), {two.address()});
    for (PushingWorker* worker : {&a, &b, &a, &b}) {
      worker->Push({6, 3, 2});
    }
    CHECK(a.Finish().applied == 2);
    CHECK(b.Finish().applied == 2);
    primary.Stop();
    CHECK(primary.core->core.step() == 1);
    CHECK(primary.core->values() == (mean ? std::vector<float>{-5, -1, 1} : std::vector<float>{-23, -10, -5}));
  }
}

TEST_CASE("all of 192 gradients that are pushed over three reducers are applied", "[grpc]") {
  PrimaryServer primary(Options(false, 3), {0});
  primary.Start();
  ReducerServer reducers[] = {{{4, absl::Milliseconds(20)}, &primary},
                              {{4, absl::Milliseconds(20)}, &primary},
                              {{4, absl::Milliseconds(20)}, &primary}};
  std::vector<std::unique_ptr<PushingWorker>> workers;
  std::vector<Thread> threads;
  for (size_t i = 0; i < 6; ++i) {
    workers.push_back(std::make_unique<PushingWorker>("w" + std::to_string(i), ModelOf(1),
                                                      std::vector<std::string>{reducers[i % 3].address()}));
    threads.emplace_back("worker", [worker = workers.back().get()] {
      for (int push = 0; push < 32; ++push) {
        worker->sink->Push(Numbers({1}), {1, 0}, StopToken()).IgnoreError();
      }
    });
  }
  threads.clear();
  int64_t applied = 0;
  for (const auto& worker : workers) {
    const GradientCounts counts = worker->Finish();
    CHECK(counts.pushed == 32);
    CHECK(counts.Refused() == 0);
    applied += counts.applied;
  }
  CHECK(applied == 192);
  double reduced = 0;
  for (const ReducerServer& reducer : reducers) {
    reduced += CounterOf(reducer.metrics, "gradients_applied");
  }
  CHECK(reduced == 192);
  primary.Stop();
  CHECK(primary.core->values() == std::vector<float>{-192});
  CHECK(primary.core->Counter("gradients_applied") == 192);
}

TEST_CASE("fewer workers than a batch get their answers", "[grpc]") {
  PrimaryServer primary(Options(true, 16), {0});
  primary.Start();
  ReducerServer reducer({16, absl::Milliseconds(5)}, &primary);
  PushingWorker alone("a", ModelOf(1), {reducer.address()}, /*max_unacknowledged=*/1);
  for (int push = 0; push < 10; ++push) {
    alone.Push({1});
  }
  CHECK(alone.Finish().applied == 10);
}

TEST_CASE("wrong gradients are refused with their reasons, and the others are applied", "[grpc]") {
  PrimaryServer primary(Options(false, 2), {0, 0});
  primary.Start();
  ReducerServer reducer({2, absl::Milliseconds(5)}, &primary);
  PushingWorker good("good", ModelOf(2), {reducer.address()});
  PushingWorker bad("bad", ModelOf(2), {reducer.address()});
  PushingWorker other("other", ModelOf(3), {reducer.address()});
  for (int push = 0; push < 8; ++push) {
    good.Push({1, 2});
    bad.Push({NAN, 1});
    bad.Push({1, INFINITY});
    bad.Push({100, 100}, {1, 1'000});
    other.Push({1, 2, 3});
  }
  CHECK(good.Finish().applied == 8);
  const GradientCounts refused = bad.Finish();
  CHECK(refused.pushed == 24);
  CHECK(refused.refused ==
        std::map<GradientVerdict, int64_t>{{GradientVerdict::kNotFinite, 16}, {GradientVerdict::kFuture, 8}});
  const GradientCounts wrong = other.Finish();
  CHECK(wrong.refused == std::map<GradientVerdict, int64_t>{{GradientVerdict::kWrongModel, 8}});
  CHECK(wrong.last_refusal ==
        "the gradient is of network 0000000000000abc, policy: 3; wanted network 0000000000000abc, policy: 2");
  CHECK(CounterOf(bad.metrics, "gradients_refused_future") == 8);
  CHECK(CounterOf(reducer.metrics, "gradients_pushed") == 40);
  CHECK(CounterOf(reducer.metrics, "gradients_refused_not_finite") == 16);
  primary.Stop();
  CHECK(primary.core->values() == std::vector<float>{-8, -16});
}

TEST_CASE("a primary that restarts from a checkpoint applies no gradient twice and reports lost ones", "[grpc]") {
  PrimaryServer primary(Options(false, 1), {0});
  primary.Start();
  ReducerServer reducer({2, absl::Milliseconds(1)}, &primary);
  PushingWorker worker("a", ModelOf(1), {reducer.address()});
  for (int push = 0; push < 20; ++push) {
    worker.Push({1});
  }
  worker.Finish();
  CheckpointContents checkpoint;
  std::string settled;
  primary.Stop();
  primary.core->parameters->Save(&checkpoint);
  settled = primary.core->settled.ToText();
  // Ten more, known to the worker and lost with the primary; then two without a primary, and eight.
  primary.Start(&checkpoint, settled);
  for (int push = 0; push < 10; ++push) {
    worker.Push({1});
  }
  worker.Finish();
  primary.Stop();
  worker.Push({1});
  worker.Push({1});
  primary.Start(&checkpoint, settled);
  for (int push = 0; push < 8; ++push) {
    worker.Push({1});
  }
  const GradientCounts counts = worker.Finish();
  CHECK(counts.pushed == 40);
  CHECK(counts.applied == 40);
  primary.Stop();
  const double rolled_back = primary.core->Counter("gradients_rolled_back");
  CHECK(rolled_back == 10);
  CHECK(primary.core->values()[0] == Approx(-(40 - rolled_back)));
}

TEST_CASE("a worker whose reducer ends pushes unanswered gradients to another", "[grpc]") {
  PrimaryServer primary(Options(false, 1), {0});
  primary.Start();
  auto first = std::make_unique<ReducerServer>(GradientReducerOptions{64, absl::Hours(1)}, &primary);
  ReducerServer second({1, absl::Hours(1)}, &primary);
  PushingWorker worker("a", ModelOf(1), {first->address(), first->address(), second.address()}, 8);
  for (int push = 0; push < 8; ++push) {  // They wait at the first reducer for ever.
    worker.Push({1});
  }
  first.reset();
  CHECK(worker.Finish().applied == 8);
  primary.Stop();
  CHECK(primary.core->values() == std::vector<float>{-8});
}

TEST_CASE("streams wait while unanswered gradients take too much memory", "[grpc]") {
  Metrics metrics;
  PrimaryServer primary(Options(false, 1), std::vector<float>(50'000));
  GradientServiceOptions options;
  options.max_bytes = 300'000;  // One and a half.
  GradientService service(options);
  primary.Start();
  service.Begin("primary", kExperiment, &metrics);
  service.SetTaker(primary.runner.get(), primary.model());
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  PushingWorker a("a", ModelOf(50'000), {server->address()}, 8);
  PushingWorker b("b", ModelOf(50'000), {server->address()}, 8);
  for (int push = 0; push < 20; ++push) {
    a.Push(std::vector<float>(50'000, 1));
    b.Push(std::vector<float>(50'000, 2));
  }
  CHECK(a.Finish().applied == 20);
  CHECK(b.Finish().applied == 20);
  primary.Stop();
  CHECK(primary.core->values()[49'999] == -60);
}

// A stream that sends any messages.
class RawPush {
 public:
  // Ends when the server reads nothing for this time.
  explicit RawPush(const std::string& address, absl::Duration idle_timeout = absl::Seconds(30))
      : stream_(NewChannel(address, "raw"), "/waggle.v1.GradientService/Push", idle_timeout, StopToken()) {}

  bool Send(const Message<v1::PushGradientRequest>& message) { return stream_.Write(EncodeMessage(message)); }
  v1::PushGradientResponse Read() {
    grpc::ByteBuffer buffer;
    REQUIRE(stream_.Read(&buffer));
    Message<v1::PushGradientResponse> message;
    REQUIRE_OK(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
    return message.header;
  }
  void EndPushes() {
    stream_.WritesDone();
    ended_ = true;
  }
  absl::Status End() {
    if (!ended_) {
      EndPushes();
    }
    return Ended();
  }
  // Waits until the server ends it.
  absl::Status Ended() {
    grpc::ByteBuffer buffer;
    while (stream_.Read(&buffer)) {
    }
    return stream_.Finish();
  }

 private:
  BlockingStream stream_;
  bool ended_ = false;
};

Message<v1::PushGradientRequest> Whole(const GradientPush& push) {
  Message<v1::PushGradientRequest> message;
  v1::GradientHeader* const header = message.header.mutable_header();
  *header = ToProto(push);
  header->set_experiment_id(kExperiment);
  header->set_checksum(Checksum(push.data.get(), header->total_bytes()));
  message.data = ByteSlices({reinterpret_cast<const char*>(push.data.get()), header->total_bytes(), push.data});
  return message;
}

TEST_CASE("a stream that contradicts itself ends, and a wrong header is refused with a reason", "[grpc]") {
  PrimaryServer primary(Options(false, 1), {0, 0});
  primary.Start();
  const GradientPush push = PushOf({1, 2}, {Member("a", 1)});
  {
    Message<v1::PushGradientRequest> damaged = Whole(push);
    damaged.header.mutable_header()->set_checksum(5);
    RawPush stream(primary.address);
    stream.Send(damaged);
    REQUIRE_CODE(stream.End(), absl::StatusCode::kDataLoss);
  }
  {
    Message<v1::PushGradientRequest> headless = Whole(push);
    headless.header.clear_header();
    RawPush stream(primary.address);
    stream.Send(headless);
    REQUIRE_CODE(stream.End(), absl::StatusCode::kInvalidArgument);
  }
  {
    Message<v1::PushGradientRequest> cut = Whole(push);
    cut.data = cut.data.Part(0, 4);
    RawPush stream(primary.address);
    stream.Send(cut);
    stream.Send(cut);
    REQUIRE_CODE(stream.End(), absl::StatusCode::kInvalidArgument);
  }
  Message<v1::PushGradientRequest> huge = Whole(push);
  huge.header.mutable_header()->mutable_groups(0)->set_elements(uint64_t{1} << 60);
  huge.header.mutable_header()->set_request(7);
  RawPush stream(primary.address);
  stream.Send(huge);
  const v1::PushGradientResponse refused = stream.Read();
  CHECK(refused.request() == 7);
  CHECK(refused.results(0).verdict() == v1::GRADIENT_VERDICT_MALFORMED);
  stream.Send(Whole(push));
  CHECK(stream.Read().results(0).verdict() == v1::GRADIENT_VERDICT_APPLIED);
  REQUIRE_OK(stream.End());
}

TEST_CASE("a server stops reading from a peer that reads no answers", "[grpc]") {
  PrimaryServer primary(Options(false, 1), {0, 0});
  primary.Start();
  GradientPush push = PushOf({1, 2}, {Member("a", 1, {1, 1'000})});  // The primary refuses it with a reason.
  int enough = 150'000;  // Answers of 16 megabytes, far above what the transport holds.
  SECTION("refused") {
    enough = 2'000;  // Each answer lists all groups.
    for (int group = 0; group < 200; ++group) {
      push.model.groups.push_back({std::string(100, 'x') + std::to_string(group), 0});
    }
  }
  SECTION("answered") {}
  const Message<v1::PushGradientRequest> message = Whole(push);
  RawPush stream(primary.address, absl::Seconds(1));
  int sent = 0;
  while (sent < enough && stream.Send(message)) {
    ++sent;
  }
  CHECK(sent < enough);
}

TEST_CASE("a gradient of another model is refused at its header, and takes no memory", "[grpc]") {
  PrimaryServer primary(Options(false, 1), {0, 0});
  primary.Start();
  Message<v1::PushGradientRequest> huge = Whole(PushOf({1, 2}, {Member("a", 1)}));
  v1::GradientHeader* const header = huge.header.mutable_header();
  header->mutable_groups(0)->set_elements(uint64_t{1} << 32);
  header->set_total_bytes(uint64_t{1} << 34);
  RawPush stream(primary.address);
  stream.Send(huge);
  CHECK(stream.Read().results(0).verdict() == v1::GRADIENT_VERDICT_WRONG_MODEL);
  *header->add_members() = header->members(0);
  stream.Send(huge);
  CHECK(stream.Read().send_singly());
  REQUIRE_OK(stream.End());
  CHECK(primary.core->Counter("gradients_refused_wrong_model") == 1);
}

TEST_CASE("a gradient for another experiment is refused, though it has the same network", "[grpc]") {
  PrimaryServer primary(Options(false, 1), {0, 0});
  primary.Start();
  ReducerServer reducer({2, absl::Milliseconds(1)}, &primary);
  for (const std::string& address : {primary.address, reducer.address()}) {
    PushingWorker of_earlier("earlier", ModelOf(2), {address}, 4, "pushed-0");
    of_earlier.Push({100, 100});
    const GradientCounts counts = of_earlier.Finish();
    CHECK(counts.refused == std::map<GradientVerdict, int64_t>{{GradientVerdict::kWrongModel, 1}});
    CHECK(counts.last_refusal == "the gradient is for experiment \"pushed-0\"; wanted \"pushed-1\"");
    PushingWorker own(address == primary.address ? "a" : "b", ModelOf(2), {address});
    own.Push({1, 2});
    CHECK(own.Finish().applied == 1);
  }
  CHECK(CounterOf(reducer.metrics, "gradients_refused_wrong_model") == 1);
  primary.Stop();
  CHECK(primary.core->values() == std::vector<float>{-2, -4});
}

TEST_CASE("a stream that stops within a gradient is ended, and streams that wait for its memory go on", "[grpc]") {
  Metrics metrics;
  PrimaryServer primary(Options(false, 1), std::vector<float>(4));
  primary.Start();
  GradientServiceOptions options;
  options.max_bytes = 16;  // One.
  options.max_stall = absl::Milliseconds(100);
  GradientService service(options);
  service.Begin("primary", kExperiment, &metrics);
  service.SetTaker(primary.runner.get(), primary.model());
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const Message<v1::PushGradientRequest> whole = Whole(PushOf({1, 2, 3, 4}, {Member("a", 1)}));
  Message<v1::PushGradientRequest> half = whole;
  half.data = whole.data.Part(0, 8);
  RawPush stalled(server->address());
  stalled.Send(half);
  RawPush waiting(server->address());
  waiting.Send(whole);
  CHECK(waiting.Read().results(0).verdict() == v1::GRADIENT_VERDICT_APPLIED);
  REQUIRE_OK(waiting.End());
  RawPush cut(primary.address);
  cut.Send(half);
  REQUIRE_CODE(cut.End(), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(stalled.Ended(), absl::StatusCode::kDeadlineExceeded);
}

TEST_CASE("a stream whose peer pushes no more ends with the last answer", "[grpc]") {
  PrimaryServer primary(Options(false, 2), {0, 0});
  primary.Start();
  RawPush stream(primary.address);
  stream.Send(Whole(PushOf({1, 2}, {Member("a", 1)})));
  stream.EndPushes();
  CHECK(stream.Read().results(0).verdict() == v1::GRADIENT_VERDICT_APPLIED);
  REQUIRE_OK(stream.End());
}

TEST_CASE("a run's end ends its streams, and the next run is served by the same service", "[grpc]") {
  GradientService service;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const Message<v1::PushGradientRequest> whole = Whole(PushOf({1, 2}, {Member("a", 1)}));
  for (const absl::Duration grace : {absl::ZeroDuration(), absl::InfiniteDuration()}) {
    // The parts of the run are destroyed once its streams have ended.
    PrimaryCore primary(Options(false, 1), {0, 0}, SettledGradients());
    GradientRunner runner;
    runner.Start(&primary.core);
    service.Begin("primary", kExperiment, &primary.metrics);
    service.SetTaker(&runner, ModelOf(2));
    RawPush idle(server->address());
    idle.Send(whole);
    CHECK(idle.Read().results(0).verdict() == v1::GRADIENT_VERDICT_APPLIED);
    Message<v1::PushGradientRequest> half = whole;
    half.data = whole.data.Part(0, 4);
    RawPush amid(server->address());
    amid.Send(half);
    service.End(grace);
    REQUIRE_CODE(idle.Ended(), absl::StatusCode::kUnavailable);
    REQUIRE_CODE(amid.Ended(), absl::StatusCode::kUnavailable);
    runner.Stop();
    CHECK(primary.values() == std::vector<float>{-1, -2});
  }
  RawPush late(server->address());
  REQUIRE_CODE(late.End(), absl::StatusCode::kUnavailable);
}

TEST_CASE("without weights a stream must come back later, and the status shows it", "[grpc]") {
  Metrics metrics;
  GradientService service;
  service.Begin("primary", kExperiment, &metrics);
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  RawPush stream(server->address());
  REQUIRE_CODE(stream.End(), absl::StatusCode::kUnavailable);
  const auto stub = v1::GradientService::NewStub(NewChannel(server->address(), "people"));
  grpc::ClientContext context;
  v1::DescribeGradientsResponse described;
  REQUIRE(stub->Describe(&context, {}, &described).ok());
  CHECK(described.role() == "primary");
  CHECK_FALSE(described.ready());
}

}  // namespace
}  // namespace waggle::testing
