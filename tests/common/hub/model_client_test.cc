#include "common/hub/model_client.h"

#include <memory>

#include "absl/cleanup/cleanup.h"
#include "common/base/deadline.h"
#include "common/base/tensor/checksum.h"
#include "common/base/threads/thread.h"
#include "common/hub/hub_convert.h"
#include "common/net/raw_codec.h"
#include "common/net/write_reactor.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/param_server.h"

namespace waggle {
namespace {

using testing::BytesOf;
using testing::MakeModel;
using testing::SlicesOf;
using testing::ValueOf;

TEST_CASE("The model ports over gRPC keep the ports' promises", "[grpc]") {
  std::unique_ptr<testing::ParamServer> server;
  testing::CheckModelConformance([&server] {
    server = std::make_unique<testing::ParamServer>();
    server->Start();
    return testing::ModelPorts{
        [&server] { return NewGrpcModelPublisher(server->address); },
        [&server](const std::string& model) { return NewGrpcModelSubscriber(server->address, model); }};
  });
}

TEST_CASE("The server keeps a holder's weights, and the best weights are pulled separately", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const auto evaluator = NewGrpcModelSubscriber(server.address, "m", "evaluator-1");
  const auto actor = NewGrpcModelSubscriber(server.address, "m");
  for (uint64_t version = 1; version <= 3; ++version) {
    REQUIRE_OK(server.models->Publish(MakeModel("m", {1, version})));
    const auto& puller = version == 2 ? evaluator : actor;
    CHECK(ValueOf(puller->PullNewer(std::nullopt, StopToken()))->version == ModelVersion{1, version});
  }
  CHECK_FALSE(ValueOf(evaluator->PullNewer(ModelVersion{1, 3}, StopToken())).has_value());
  CHECK(server.models->Find("m", {1, 1}) == nullptr);
  const auto held = server.models->Find("m", {1, 2});
  REQUIRE(held != nullptr);
  server.models->SetBest(held);
  const std::optional<ModelSnapshot> best = ValueOf(actor->PullBest(StopToken()));
  REQUIRE(best.has_value());
  CHECK(best->version == ModelVersion{1, 2});
  CHECK(BytesOf(best->data) == BytesOf(held->snapshot.data));
  const auto nameless = NewGrpcModelSubscriber(server.address, "m", "no such name!");
  REQUIRE_CODE(nameless->PullNewer(std::nullopt, StopToken()).status(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A server that is away is unavailable, and is found again", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const auto publisher = NewGrpcModelPublisher(server.address);
  const auto subscriber = NewGrpcModelSubscriber(server.address, "m");
  REQUIRE_OK(publisher->Publish(MakeModel("m", {1, 1}), StopToken()));
  server.Stop();
  CHECK(publisher->Publish(MakeModel("m", {1, 2}), StopToken()).code() == absl::StatusCode::kUnavailable);
  CHECK(subscriber->PullNewer(std::nullopt, StopToken()).status().code() == absl::StatusCode::kUnavailable);

  // The wait goes on while the server is away, and ends with the returned server's weights.
  const StopToken stop;
  absl::Status waited;
  ModelVersion published{1, 2};
  {
    const Thread waiter("waiter", [&] { waited = subscriber->WaitNewer(ModelVersion{1, 1}, stop); });
    absl::Cleanup give_up = [&stop] { stop.RequestStop(); };
    server.Start();
    // Publishes until the channel is connected again. Uses new versions, because a version whose answer was lost is
    // refused.
    const Deadline deadline(absl::Seconds(60));
    absl::Status status;
    do {
      ++published.version;
      status = publisher->Publish(MakeModel("m", published), StopToken());
    } while (!status.ok() && deadline.Left() > absl::ZeroDuration());
    REQUIRE_OK(status);
    std::move(give_up).Cancel();
  }
  CHECK(waited == absl::OkStatus());
  CHECK(ValueOf(subscriber->PullNewer(ModelVersion{1, 1}, StopToken()))->version == published);
}

TEST_CASE("A pull takes the memory of an earlier one only if that is unused", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const auto subscriber = NewGrpcModelSubscriber(server.address, "m");
  const auto pull = [&](uint64_t version) {
    REQUIRE_OK(server.models->Publish(MakeModel("m", {1, version})));
    return *ValueOf(subscriber->PullNewer(std::nullopt, StopToken()));
  };
  const auto address = [](const ModelSnapshot& snapshot) { return snapshot.data.slices()[0].data; };
  const ModelSnapshot kept = pull(1);
  const char* const free = address(pull(2));
  for (uint64_t version = 3; version < 10; ++version) {
    const ModelSnapshot pulled = pull(version);
    CHECK(address(pulled) == free);
    CHECK(BytesOf(pulled.data) == BytesOf(MakeModel("m", {1, version}).data));
  }
  CHECK(BytesOf(kept.data) == BytesOf(MakeModel("m", {1, 1}).data));
}

// Never answers.
template <class Reactor>
class Mute final : public Reactor {
 public:
  void OnCancel() override { this->Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

class MuteServer final : public v1::ModelService::WithRawCallbackMethod_Push<
                             v1::ModelService::WithRawCallbackMethod_Pull<v1::ModelService::CallbackService>> {
 public:
  grpc::ServerReadReactor<grpc::ByteBuffer>* Push(grpc::CallbackServerContext* /*context*/,
                                                  grpc::ByteBuffer* /*response*/) override {
    called.RequestStop();
    return new Mute<grpc::ServerReadReactor<grpc::ByteBuffer>>();
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Pull(grpc::CallbackServerContext* /*context*/,
                                                   const grpc::ByteBuffer* /*request*/) override {
    called.RequestStop();
    return new Mute<grpc::ServerWriteReactor<grpc::ByteBuffer>>();
  }

  StopToken called;
};

TEST_CASE("A call that the server does not answer ends with a stop", "[grpc]") {
  MuteServer mute;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&mute}));
  const auto publisher = NewGrpcModelPublisher(server->address());
  const auto subscriber = NewGrpcModelSubscriber(server->address(), "m");
  absl::Status ended;
  // The stop comes once the server has the call.
  SECTION("publishing") {
    ended = publisher->Publish(MakeModel("m", {1, 1}), mute.called);
  }
  SECTION("pulling the newest weights") {
    ended = subscriber->PullNewer(std::nullopt, mute.called).status();
  }
  SECTION("pulling the best weights") {
    ended = subscriber->PullBest(mute.called).status();
  }
  CHECK(mute.called.StopRequested());
  CHECK(ended.code() == absl::StatusCode::kCancelled);
}

// Answers every pull with given messages.
class LyingServer final : public v1::ModelService::WithRawCallbackMethod_Pull<v1::ModelService::CallbackService> {
 public:
  class Source final : public WriteSource {
   public:
    Source(std::vector<grpc::ByteBuffer> messages, absl::Status end)
        : messages_(std::move(messages)), end_(std::move(end)) {}
    void OnOpen(std::function<void()> /*wake*/) override {}
    Step Next() override {
      return next_ < messages_.size() ? Step{messages_[next_++], std::nullopt} : Step{std::nullopt, end_};
    }

   private:
    const std::vector<grpc::ByteBuffer> messages_;
    const absl::Status end_;
    size_t next_ = 0;
  };

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Pull(grpc::CallbackServerContext* /*context*/,
                                                   const grpc::ByteBuffer* /*request*/) override {
    return new WriteReactor(std::make_unique<Source>(messages, end));
  }

  std::vector<grpc::ByteBuffer> messages;
  absl::Status end;
};

// The only message of a right answer.
Message<v1::PullModelResponse> Honest(const ModelSnapshot& snapshot) {
  Message<v1::PullModelResponse> message;
  *message.header.mutable_header() = ToProto(snapshot);
  message.header.mutable_header()->set_total_bytes(snapshot.data.size());
  message.header.mutable_header()->set_checksum(Checksum(snapshot.data));
  message.data = snapshot.data;
  return message;
}

TEST_CASE("A server's answer is accepted only if its parts agree", "[grpc]") {
  LyingServer lying;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&lying}));
  const auto subscriber = NewGrpcModelSubscriber(server->address(), "m");
  const ModelSnapshot snapshot = MakeModel("m", {1, 5});
  const auto pull = [&](std::vector<Message<v1::PullModelResponse>> messages) {
    lying.messages.clear();
    for (const Message<v1::PullModelResponse>& message : messages) {
      lying.messages.push_back(EncodeMessage(message));
    }
    return subscriber->PullNewer(ModelVersion{1, 4}, StopToken()).status();
  };
  REQUIRE_OK(pull({Honest(snapshot)}));

  const std::string bytes = BytesOf(snapshot.data);
  Message<v1::PullModelResponse> message = Honest(snapshot);
  SECTION("no message") {
    CHECK(pull({}).code() == absl::StatusCode::kDataLoss);
  }
  SECTION("too few bytes") {
    message.data = SlicesOf(bytes.substr(1));
    CHECK_THAT(std::string(pull({message}).message()), Catch::Contains("only 55 bytes have arrived; wanted 56"));
  }
  SECTION("too many bytes") {
    Message<v1::PullModelResponse> more;
    more.data = SlicesOf("x");
    CHECK_THAT(std::string(pull({message, more}).message()), Catch::Contains("57 bytes have arrived; wanted 56"));
  }
  SECTION("other bytes") {
    std::string damaged = bytes;
    damaged[0] ^= 1;
    message.data = SlicesOf(damaged);
    CHECK_THAT(std::string(pull({message}).message()), Catch::Contains("checksum"));
  }
  SECTION("bytes without a header") {
    message.header.clear_header();
    CHECK_THAT(std::string(pull({message}).message()), Catch::Contains("without a header"));
  }
  SECTION("a total that is not the tensors'") {
    message.header.mutable_header()->set_total_bytes(uint64_t{1} << 62);
    CHECK_THAT(std::string(pull({message}).message()), Catch::Contains("the tensors take 56 bytes together"));
  }
  SECTION("tensors of no type") {
    message.header.mutable_header()->mutable_tensors(0)->set_dtype(static_cast<v1::DataType>(77));
    CHECK_THAT(std::string(pull({message}).message()), Catch::Contains("77 is not an element type"));
  }
  SECTION("a version that is not newer") {
    CHECK_THAT(std::string(pull({Honest(MakeModel("m", {1, 4}))}).message()), Catch::Contains("was not asked for"));
  }
  SECTION("another model") {
    CHECK_THAT(std::string(pull({Honest(MakeModel("n", {1, 5}))}).message()), Catch::Contains("of model n"));
  }
}

TEST_CASE("A server that stops in the middle of an answer is unavailable, whatever its code", "[grpc]") {
  LyingServer stopping;
  const auto server = ValueOf(RpcServer::Start("127.0.0.1:0", {&stopping}));
  const auto subscriber = NewGrpcModelSubscriber(server->address(), "m");
  for (const absl::Status& end : {absl::CancelledError("stopping"), absl::UnavailableError("stopping"),
                                  absl::DeadlineExceededError("too slow")}) {
    stopping.end = end;
    CHECK(subscriber->PullNewer(std::nullopt, StopToken()).status().code() == absl::StatusCode::kUnavailable);
  }
  for (const absl::Status& end : {absl::FailedPreconditionError("no"), absl::InternalError("a bug")}) {
    stopping.end = end;
    CHECK(subscriber->PullNewer(std::nullopt, StopToken()).status().code() == end.code());
  }
}

}  // namespace
}  // namespace waggle
