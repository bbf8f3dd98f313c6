#include "common/net/blocking_stream.h"

#include <stdexcept>

#include "common/base/threads/thread.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/net/read_reactor.h"
#include "common/net/server.h"
#include "common/net/write_reactor.h"
#include "tests/support/catch.h"
#include "waggle/v1/model.grpc.pb.h"

namespace waggle {
namespace {

using testing::ValueOf;

constexpr absl::Duration kIdle = absl::Seconds(30);

// Push adds up the bytes, refuses a piece of 13, and throws for one of 17. Pull sends as many messages as the model's
// name says, then OUT_OF_RANGE, or an exception after 17; for "ok" and "lost" one message with that end. Watch never
// sends.
class Service final : public v1::ModelService::WithRawCallbackMethod_Push<v1::ModelService::WithRawCallbackMethod_Pull<
                          v1::ModelService::WithRawCallbackMethod_Watch<v1::ModelService::Service>>> {
 public:
  class Adder final : public ReadHandler<v1::PushModelRequest, v1::ModelVersion> {
   public:
    absl::Status OnMessage(Message<v1::PushModelRequest> message) override {
      sum_ += message.data.size();
      if (message.data.size() == 17) {
        throw std::runtime_error("a bug");
      }
      return message.data.size() == 13 ? absl::InvalidArgumentError("a piece of 13") : absl::OkStatus();
    }
    absl::StatusOr<v1::ModelVersion> OnPeerDone() override {
      if (sum_ == 0) {
        return absl::DataLossError("nothing came");
      }
      v1::ModelVersion answer;
      answer.set_version(sum_);
      return answer;
    }

   private:
    uint64_t sum_ = 0;
  };

  class Counter final : public WriteSource {
   public:
    explicit Counter(uint64_t end) : end_(end) {}
    void OnOpen(std::function<void()> /*wake*/) override {}
    Step Next() override {
      if (next_ == end_ && end_ == 17) {
        throw std::runtime_error("a bug");
      }
      if (next_ == end_) {
        return {std::nullopt, absl::OutOfRangeError("that was all")};
      }
      v1::ModelVersion message;
      message.set_version(++next_);
      return {EncodeMessage(message, ByteSlices()), std::nullopt};
    }

   private:
    const uint64_t end_;
    uint64_t next_ = 0;
  };

  // One message, with the end.
  class Once final : public WriteSource {
   public:
    explicit Once(absl::Status end) : end_(std::move(end)) {}
    void OnOpen(std::function<void()> /*wake*/) override {}
    Step Next() override { return {EncodeMessage(v1::ModelVersion(), ByteSlices()), end_}; }

   private:
    const absl::Status end_;
  };

  class Silence final : public WriteSource {
   public:
    void OnOpen(std::function<void()> wake) override { wake(); }  // A wake without a message is harmless.
    Step Next() override { return {}; }
  };

  grpc::ServerReadReactor<grpc::ByteBuffer>* Push(grpc::CallbackServerContext* context,
                                                  grpc::ByteBuffer* response) override {
    return new ReadReactor<v1::PushModelRequest, v1::ModelVersion>(context, std::make_unique<Adder>(), response);
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Pull(grpc::CallbackServerContext* /*context*/,
                                                   const grpc::ByteBuffer* request) override {
    Message<v1::PullModelRequest> message;
    (void)DecodeMessage(*request, kMaxHeaderBytes, &message.header, &message.data);
    const std::string& model = message.header.model();
    if (model == "ok" || model == "lost") {
      return new WriteReactor(
          std::make_unique<Once>(model == "ok" ? absl::OkStatus() : absl::DataLossError("it is lost")));
    }
    return new WriteReactor(std::make_unique<Counter>(std::stoul(model)));
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* /*context*/,
                                                    const grpc::ByteBuffer* /*request*/) override {
    return new WriteReactor(std::make_unique<Silence>());
  }
};

struct Fixture {
  Service service;
  std::unique_ptr<RpcServer> server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  std::shared_ptr<grpc::Channel> channel = NewChannel(server->address(), "test");
};

grpc::ByteBuffer Piece(size_t size) {
  const std::shared_ptr<char> bytes = AllocateBytes(size);
  std::fill_n(bytes.get(), size, 'x');
  return EncodeMessage(v1::PushModelRequest(), ByteSlices({bytes.get(), size, bytes}));
}

TEST_CASE("A client-streaming call hands over every message and brings one answer", "[grpc]") {
  const Fixture fixture;
  BlockingStream stream(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
  for (int i = 0; i < 100; ++i) {
    REQUIRE(stream.Write(Piece(100'000)));
  }
  REQUIRE(stream.WritesDone());
  grpc::ByteBuffer answer;
  REQUIRE(stream.Read(&answer));
  Message<v1::ModelVersion> message;
  REQUIRE_OK(DecodeMessage(answer, kMaxHeaderBytes, &message.header, &message.data));
  CHECK(message.header.version() == 10'000'000);
  CHECK_FALSE(stream.Read(&answer));
  CHECK(stream.Finish() == absl::OkStatus());
}

TEST_CASE("The last message may end the writing, also if it is the only one", "[grpc]") {
  const Fixture fixture;
  for (const int before : {0, 3}) {
    BlockingStream stream(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
    for (int i = 0; i < before; ++i) {
      REQUIRE(stream.Write(Piece(100)));
    }
    REQUIRE(stream.WriteLast(Piece(10)));
    grpc::ByteBuffer answer;
    REQUIRE(stream.Read(&answer));
    Message<v1::ModelVersion> message;
    REQUIRE_OK(DecodeMessage(answer, kMaxHeaderBytes, &message.header, &message.data));
    CHECK(message.header.version() == static_cast<uint64_t>(before * 100 + 10));
    CHECK(stream.Finish() == absl::OkStatus());
  }
}

TEST_CASE("A server's last message may bring its end", "[grpc]") {
  const Fixture fixture;
  for (const char* const model : {"ok", "lost"}) {
    v1::PullModelRequest request;
    request.set_model(model);
    BlockingStream stream(fixture.channel, "/waggle.v1.ModelService/Pull", kIdle, StopToken());
    REQUIRE(stream.WriteLast(EncodeMessage(request, ByteSlices())));
    grpc::ByteBuffer buffer;
    CHECK(stream.Read(&buffer));
    CHECK_FALSE(stream.Read(&buffer));
    CHECK(stream.Finish().code() ==
          (absl::string_view(model) == "ok" ? absl::StatusCode::kOk : absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("A handler's error ends the call with it, in the middle or at the end", "[grpc]") {
  const Fixture fixture;
  grpc::ByteBuffer answer;
  BlockingStream middle(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
  REQUIRE(middle.Write(Piece(13)));
  CHECK_FALSE(middle.Read(&answer));
  const absl::Status status = middle.Finish();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "a piece of 13");

  BlockingStream end(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
  REQUIRE(end.WritesDone());
  CHECK_FALSE(end.Read(&answer));
  CHECK(end.Finish().code() == absl::StatusCode::kDataLoss);
}

TEST_CASE("Logic that throws ends the call with the reason", "[grpc]") {
  const Fixture fixture;
  grpc::ByteBuffer answer;
  BlockingStream push(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
  REQUIRE(push.Write(Piece(17)));
  CHECK_FALSE(push.Read(&answer));
  CHECK(push.Finish().code() == absl::StatusCode::kInternal);

  BlockingStream pull(fixture.channel, "/waggle.v1.ModelService/Pull", kIdle, StopToken());
  v1::PullModelRequest request;
  request.set_model("17");
  REQUIRE(pull.WriteLast(EncodeMessage(request, ByteSlices())));
  int messages = 0;
  while (pull.Read(&answer)) {
    ++messages;
  }
  CHECK(messages == 17);
  CHECK(pull.Finish().code() == absl::StatusCode::kInternal);
}

TEST_CASE("A server-streaming call brings every message in order, then its end", "[grpc]") {
  const Fixture fixture;
  v1::PullModelRequest request;
  request.set_model("1000");
  BlockingStream stream(fixture.channel, "/waggle.v1.ModelService/Pull", kIdle, StopToken());
  REQUIRE(stream.WriteLast(EncodeMessage(request, ByteSlices())));
  grpc::ByteBuffer buffer;
  uint64_t expected = 0;
  while (stream.Read(&buffer)) {
    Message<v1::ModelVersion> message;
    REQUIRE_OK(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
    REQUIRE(message.header.version() == ++expected);
  }
  CHECK(expected == 1'000);
  CHECK(stream.Finish().code() == absl::StatusCode::kOutOfRange);
}

TEST_CASE("The call of a silent peer ends after the idle timeout, or with a stop", "[grpc]") {
  const Fixture fixture;
  grpc::ByteBuffer buffer;
  // Connects: the short timeout must not end before there is a connection.
  BlockingStream first(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
  REQUIRE(first.Write(Piece(1)));
  BlockingStream silent(fixture.channel, "/waggle.v1.ModelService/Watch", absl::Milliseconds(50), StopToken());
  CHECK_FALSE((silent.Write(EncodeMessage(v1::WatchModelRequest(), ByteSlices())) && silent.Read(&buffer)));
  const absl::Status status = silent.Finish();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(status.message()), Catch::Contains("no answer within 50ms"));

  const StopToken stop;
  BlockingStream stopped(fixture.channel, "/waggle.v1.ModelService/Watch", absl::InfiniteDuration(), stop);
  REQUIRE(stopped.Write(EncodeMessage(v1::WatchModelRequest(), ByteSlices())));
  bool read = true;
  {
    const Thread reader("reader", [&] { read = stopped.Read(&buffer); });
    stop.RequestStop();
  }
  CHECK_FALSE(read);
  CHECK(stopped.Finish().code() == absl::StatusCode::kCancelled);
}

TEST_CASE("A stream that is dropped half-way does the server no harm", "[grpc]") {
  const Fixture fixture;
  for (int i = 0; i < 20; ++i) {
    BlockingStream dropped(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
    REQUIRE(dropped.Write(Piece(100)));
    BlockingStream unread(fixture.channel, "/waggle.v1.ModelService/Pull", kIdle, StopToken());
    v1::PullModelRequest request;
    request.set_model("100000");
    REQUIRE(unread.Write(EncodeMessage(request, ByteSlices())));
  }
  BlockingStream stream(fixture.channel, "/waggle.v1.ModelService/Push", kIdle, StopToken());
  REQUIRE(stream.WriteLast(Piece(1)));
  grpc::ByteBuffer answer;
  CHECK(stream.Read(&answer));
}

TEST_CASE("A stream to a port without a server is unavailable", "[grpc]") {
  BlockingStream stream(NewChannel("127.0.0.1:1", "test"), "/waggle.v1.ModelService/Push", kIdle, StopToken());
  CHECK_FALSE(stream.Write(Piece(1)));
  CHECK(stream.Finish().code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace waggle
