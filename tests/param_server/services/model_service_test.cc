#include "param_server/services/model_service.h"

#include <set>
#include <vector>

#include "common/base/reason.h"
#include "common/base/tensor/checksum.h"
#include "common/base/threads/thread.h"
#include "common/hub/hub_convert.h"
#include "common/hub/model_client.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/param_server.h"

namespace waggle {
namespace {

using testing::BytesOf;
using testing::MakeModel;
using testing::SlicesOf;
using testing::ValueOf;

constexpr absl::Duration kIdle = absl::Seconds(30);

// The messages and the status of a call.
struct Answer {
  std::vector<grpc::ByteBuffer> messages;
  absl::Status status;
};

Answer Call(const testing::ParamServer& server, const std::string& method, std::vector<grpc::ByteBuffer> requests) {
  BlockingStream stream(NewChannel(server.address, "test"), "/waggle.v1.ModelService/" + method, kIdle, StopToken());
  for (const grpc::ByteBuffer& request : requests) {
    stream.Write(request);
  }
  stream.WritesDone();
  Answer answer;
  grpc::ByteBuffer message;
  while (stream.Read(&message)) {
    answer.messages.push_back(message);
  }
  answer.status = stream.Finish();
  return answer;
}

grpc::ByteBuffer PullRequest(std::optional<ModelVersion> newer_than) {
  v1::PullModelRequest request;
  request.set_model("m");
  if (newer_than.has_value()) {
    *request.mutable_newer_than() = ToProto(*newer_than);
  }
  return EncodeMessage(request, ByteSlices());
}

Message<v1::PushModelRequest> PushRequest(const ModelSnapshot& snapshot) {
  Message<v1::PushModelRequest> message;
  *message.header.mutable_header() = ToProto(snapshot);
  message.header.mutable_header()->set_total_bytes(snapshot.data.size());
  message.header.mutable_header()->set_checksum(Checksum(snapshot.data));
  message.data = snapshot.data;
  return message;
}

TEST_CASE("Without a newer version one empty message travels, and no weights", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const Answer before = Call(server, "Pull", {PullRequest(std::nullopt)});
  REQUIRE_OK(before.status);
  REQUIRE(before.messages.size() == 1);
  CHECK(before.messages[0].Length() == 0);

  REQUIRE_OK(server.models->Publish(MakeModel("m", {1, 5}, 300'000)));  // 4.8 MB: three pieces.
  const Answer newer = Call(server, "Pull", {PullRequest(ModelVersion{1, 4})});
  REQUIRE_OK(newer.status);
  CHECK(newer.messages.size() == 3);
  CHECK(newer.messages[0].Length() <= static_cast<size_t>(kPieceBytes) + 200);
  const Answer same = Call(server, "Pull", {PullRequest(ModelVersion{1, 5})});
  REQUIRE_OK(same.status);
  REQUIRE(same.messages.size() == 1);
  CHECK(same.messages[0].Length() == 0);
  CHECK(server.metrics.TakeSnapshot().counters.at("models_pulled") == 1);
  CHECK(server.metrics.TakeSnapshot().counters.at("bytes_pulled") == 300'000 * 16 + 8);
}

TEST_CASE("A malformed push is refused with the reason, and the old version stays", "[grpc]") {
  testing::ParamServer server;
  server.model_options.max_bytes = 1'000;
  server.Start();
  REQUIRE_OK(server.models->Publish(MakeModel("m", {1, 1})));
  Message<v1::PushModelRequest> good = PushRequest(MakeModel("m", {1, 2}));
  Message<v1::PushModelRequest> bad = good;
  Message<v1::PushModelRequest> more;
  v1::ModelHeader* const header = bad.header.mutable_header();
  std::string bytes = BytesOf(good.data);
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  std::string expected;
  std::vector<Message<v1::PushModelRequest>> messages;

  SECTION("no message") {
    expected = "before its header came";
  }
  SECTION("no header first") {
    bad.header.clear_header();
    messages = {bad};
    expected = "the first message has no header";
  }
  SECTION("a second header") {
    bad.data = SlicesOf(bytes.substr(0, 10));
    messages = {bad, bad};
    expected = "after the first one has a header";
  }
  SECTION("too short") {
    bad.data = SlicesOf(bytes.substr(0, 10));
    messages = {bad};
    expected = "only 10 bytes have come where 56 were announced";
  }
  SECTION("too long") {
    more.data = SlicesOf("x");
    messages = {good, more};
    expected = "57 bytes have come where 56 were announced";
  }
  SECTION("a wrong checksum") {
    header->set_checksum(header->checksum() + 1);
    messages = {bad};
    expected = "checksum";
    code = absl::StatusCode::kDataLoss;
  }
  SECTION("an unknown element type") {
    header->mutable_tensors(0)->set_dtype(static_cast<v1::DataType>(260));  // 4 in a byte, which would be int16.
    messages = {bad};
    expected = "260 is not an element type";
  }
  SECTION("another element type, of another size") {
    header->mutable_tensors(0)->set_dtype(v1::DATA_TYPE_FLOAT64);
    messages = {bad};
    expected = "more than 56 bytes";
  }
  SECTION("more than there is room for") {
    messages = {PushRequest(MakeModel("m", {1, 2}, 100))};
    expected = "1608 bytes are more than the limit leaves";
    code = absl::StatusCode::kResourceExhausted;
  }
  SECTION("too many dimensions") {
    for (int i = 0; i < 10; ++i) {
      header->mutable_tensors(0)->add_shape(1);
    }
    messages = {bad};
    expected = "12 dimensions; at most 8";
  }
  SECTION("a stale epoch") {
    messages = {PushRequest(MakeModel("m", {0, 99}))};
    expected = "epoch 0, version 99 is not newer than what is published (epoch 1, version 1)";
    code = absl::StatusCode::kFailedPrecondition;
  }
  std::vector<grpc::ByteBuffer> encoded;
  for (const Message<v1::PushModelRequest>& message : messages) {
    encoded.push_back(EncodeMessage(message));
  }
  const Answer answer = Call(server, "Push", encoded);
  CHECK(answer.status.code() == code);
  CHECK_THAT(std::string(answer.status.message()), Catch::Contains(expected));
  // Without an experiment id the push belongs to no run.
  const bool names_one = !messages.empty() && messages[0].header.has_header();
  CHECK(server.metrics.TakeSnapshot().counters.count("pushes_refused") == (names_one ? 1 : 0));
  CHECK(server.models->Newest("m")->snapshot.version == ModelVersion{1, 1});
  CHECK(Call(server, "Push", {EncodeMessage(good)}).status == absl::OkStatus());
  CHECK(server.models->Newest("m")->snapshot.version == ModelVersion{1, 2});
}

TEST_CASE("Weights of an epoch that no learner was given are refused, and fence no learner off", "[grpc]") {
  testing::ParamServer server;
  server.epochs_of_absent = 0;
  server.Start();
  REQUIRE(ValueOf(server.state->TakeEpoch()) == 1);
  const auto publisher = NewGrpcModelPublisher(server.address);
  for (const uint64_t never_given : {uint64_t{2}, uint64_t{1} << 60}) {
    const absl::Status refused = publisher->Publish(MakeModel("m", {never_given, 1}), StopToken());
    CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(refused.message()),
               Catch::Contains("weights of epoch " + std::to_string(never_given)) && Catch::Contains("at most 1"));
  }
  CHECK(server.metrics.TakeSnapshot().counters.at("pushes_refused") == 2);
  CHECK(server.models->Newest("m") == nullptr);
  CHECK(publisher->Publish(MakeModel("m", {1, 1}), StopToken()) == absl::OkStatus());
  REQUIRE(ValueOf(server.state->TakeEpoch()) == 2);
  CHECK(publisher->Publish(MakeModel("m", {2, 1}), StopToken()) == absl::OkStatus());
}

TEST_CASE("Weights of a dismissed learner are refused, and those of its successor are not", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  server.Order(Role::kLearner, "first");
  CHECK(ValueOf(server.hub->Join({"first", "", 0, {}})).epoch == 1);
  const auto publisher = NewGrpcModelPublisher(server.address);
  REQUIRE_OK(publisher->Publish(MakeModel("m", {1, 1}), StopToken()));
  server.hub->Dismiss("first", "it was silent");
  const absl::Status refused = publisher->Publish(MakeModel("m", {1, 2}), StopToken());
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  CHECK(ReasonOf(refused) == reasons::kLaterLearner);
  CHECK(server.models->Newest("m")->snapshot.version == ModelVersion{1, 1});
  server.Order(Role::kLearner, "second");
  CHECK(ValueOf(server.hub->Join({"second", "", 0, {}})).epoch == 2);
  REQUIRE_OK(publisher->Publish(MakeModel("m", {2, 1}), StopToken()));
}

TEST_CASE("A pushed version has the steps that actors have reported, not those of its header", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  server.Order(Role::kActor, "a");
  REQUIRE_OK(server.hub->Join({"a", "", 0, {}}).status());
  WorkerReport report;
  report.worker_id = "a";
  report.figures.counters["env_steps"] = 85'533;
  REQUIRE_OK(server.hub->Heartbeat(report).status());
  ModelSnapshot snapshot = MakeModel("m", {1, 5});
  snapshot.progress = {0.25, 5, 82'412};
  REQUIRE_OK(NewGrpcModelPublisher({server.address})->Publish(snapshot, StopToken()));
  report.figures.counters["env_steps"] = 90'000;
  REQUIRE_OK(server.hub->Heartbeat(report).status());
  const auto pulled = ValueOf(NewGrpcModelSubscriber({server.address}, "m")->PullNewer(std::nullopt, StopToken()));
  REQUIRE(pulled.has_value());
  CHECK(pulled->progress.env_steps == 85'533);
  CHECK(pulled->progress.run == 0.25);
}

TEST_CASE("Bytes that are not a message are refused by all methods", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const grpc::Slice garbage(std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11));
  for (const char* const method : {"Push", "Pull", "Watch"}) {
    CHECK(Call(server, method, {grpc::ByteBuffer(&garbage, 1)}).status.code() == absl::StatusCode::kInvalidArgument);
  }
  CHECK(Call(server, "Watch", {EncodeMessage(v1::WatchModelRequest(), ByteSlices())}).status.code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(Call(server, "Pull", {PullRequest(std::nullopt)}).status == absl::OkStatus());  // It goes on serving.
}

TEST_CASE("Sixteen readers at once get the same encoded messages", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  const ModelSnapshot published = MakeModel("m", {1, 1}, 500'000);
  REQUIRE_OK(NewGrpcModelPublisher(server.address)->Publish(published, StopToken()));
  const std::shared_ptr<const StoredModel> stored = server.models->Newest("m");
  std::vector<absl::StatusOr<std::optional<ModelSnapshot>>> pulled(16, absl::UnknownError("not pulled"));
  {
    std::vector<Thread> readers;
    for (size_t i = 0; i < pulled.size(); ++i) {
      readers.emplace_back("reader", [&server, &result = pulled[i]] {
        result = NewGrpcModelSubscriber(server.address, "m")->PullNewer(std::nullopt, StopToken());
      });
    }
  }
  for (const auto& result : pulled) {
    REQUIRE_OK(result);
    CHECK((BytesOf((*result)->data) == BytesOf(published.data)));
  }
  EncodedModels encoded;
  const auto pieces = encoded.Get(stored);
  CHECK(encoded.Get(stored) == pieces);
}

TEST_CASE("An old version does not come back into the cache of messages", "[unit]") {
  ModelStore store((ModelStoreOptions()));
  EncodedModels encoded;
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 1})));
  const auto old = store.Newest("m");
  REQUIRE_OK(store.Publish(MakeModel("m", {1, 2})));
  const auto pieces = encoded.Get(store.Newest("m"));
  CHECK(encoded.Get(old) != pieces);  // Made for this call alone.
  CHECK(encoded.Get(store.Newest("m")) == pieces);
}

TEST_CASE("A reader that stops reading holds one version, not all that follow", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  std::vector<std::weak_ptr<const void>> versions;
  const auto publish = [&](uint64_t version) {
    ModelSnapshot snapshot = MakeModel("m", {1, version}, 500'000);  // 8 MB: more than a connection buffers.
    versions.push_back(snapshot.data.slices().front().owner);
    REQUIRE_OK(server.models->Publish(std::move(snapshot)));
  };
  publish(1);
  BlockingStream slow(NewChannel(server.address, "slow"), "/waggle.v1.ModelService/Pull", kIdle, StopToken());
  REQUIRE(slow.WriteLast(PullRequest(std::nullopt)));
  grpc::ByteBuffer first;
  REQUIRE(slow.Read(&first));
  for (uint64_t version = 2; version <= 20; ++version) {
    publish(version);
  }
  size_t held = 0;
  for (const std::weak_ptr<const void>& version : versions) {
    held += version.expired() ? 0 : 1;
  }
  CHECK(held == 2);  // The slow reader's and the newest.
  CHECK_FALSE(versions.front().expired());
}

TEST_CASE("A watch sends versions in their order, and ends with the newest", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  REQUIRE_OK(server.models->Publish(MakeModel("m", {1, 1})));
  v1::WatchModelRequest request;
  request.set_model("m");
  BlockingStream watch(NewChannel(server.address, "test"), "/waggle.v1.ModelService/Watch", kIdle, StopToken());
  REQUIRE(watch.WriteLast(EncodeMessage(request, ByteSlices())));
  const Thread publisher("publisher", [&server] {
    for (uint64_t version = 2; version <= 500; ++version) {
      (void)server.models->Publish(MakeModel("m", {1, version}));
    }
  });
  ModelVersion last;
  while (last.version < 500) {
    grpc::ByteBuffer buffer;
    REQUIRE(watch.Read(&buffer));
    Message<v1::ModelVersion> message;
    REQUIRE_OK(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
    REQUIRE(last < FromProto(message.header));
    last = FromProto(message.header);
  }
  CHECK(last == ModelVersion{1, 500});
}

TEST_CASE("A server ends while readers watch", "[grpc]") {
  testing::ParamServer server;
  server.Start();
  v1::WatchModelRequest request;
  request.set_model("m");
  BlockingStream watch(NewChannel(server.address, "test"), "/waggle.v1.ModelService/Watch", kIdle, StopToken());
  REQUIRE(watch.Write(EncodeMessage(request, ByteSlices())));
  server.Stop();
  grpc::ByteBuffer buffer;
  CHECK_FALSE(watch.Read(&buffer));
  CHECK_FALSE(watch.Finish().ok());
}

}  // namespace
}  // namespace waggle
