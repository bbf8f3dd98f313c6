// Lanes of a dm_env_rpc server, in this process over loopback, beside bare gRPC streams with equally many bytes: the
// protocol's cost on both sides.

#include <grpcpp/completion_queue.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/environments/environment.h"
#include "actor/environments/rpc/environment_service.h"
#include "actor/environments/rpc/rpc_environments.h"
#include "actor/environments/rpc/rpc_stream.h"
#include "common/base/check.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/net/server.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

constexpr int64_t kRows = 4'000;  // Rows of all lanes between two readings of the clock.

grpc::ByteBuffer Encoded(const google::protobuf::MessageLite& message) {
  return EncodeMessage(message, ByteSlices());
}

// CartPole's specs and answers, as Waggle's server writes them, without an environment.
class Canned {
 public:
  Canned() {
    dm::EnvironmentResponse response;
    response.mutable_create_world()->set_world_name("world-1");
    answers_.push_back(Encoded(response));
    const EnvironmentDefinitions definitions = BuiltinEnvironments();
    const auto served =
        Must(ServedEnvironment::Create(*Must(definitions.Find("CartPole-v1")), EnvironmentOptions(), {}, Rng(1)));
    *response.mutable_join_world()->mutable_specs() = served->specs();
    answers_.push_back(Encoded(response));
    dm::StepRequest all;
    for (const auto& [uid, spec] : served->specs().observations()) {
      all.add_requested_observations(uid);
    }
    const absl::Status stepped = served->Step(all, false, response.mutable_step());
    WAGGLE_CHECK(stepped.ok(), stepped.message());
    answers_.push_back(Encoded(response));
    dm::Tensor& action = (*all.mutable_actions())[1];
    action.mutable_int64s()->add_array(1);
    dm::EnvironmentRequest request;
    *request.mutable_step() = all;
    step_request_ = Encoded(request);
  }

  // The answer to a stream's n-th request.
  const grpc::ByteBuffer& answer(size_t n) const { return answers_[std::min(n, answers_.size() - 1)]; }
  const grpc::ByteBuffer& step_request() const { return step_request_; }

 private:
  std::vector<grpc::ByteBuffer> answers_;
  grpc::ByteBuffer step_request_;
};

// Answers each message with a prepared one, without reading it.
class CannedReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit CannedReactor(const Canned* canned) : canned_(canned) { StartRead(&incoming_); }
  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    StartWrite(&canned_->answer(answered_++));
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&incoming_);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  const Canned* const canned_;
  grpc::ByteBuffer incoming_;
  size_t answered_ = 0;
};

class CannedService final : public dm::Environment::WithRawCallbackMethod_Process<dm::Environment::Service> {
 public:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Process(grpc::CallbackServerContext*) override {
    return new CannedReactor(&canned_);
  }
  const Canned& canned() const { return canned_; }

 private:
  const Canned canned_;
};

// Streams that send a message for each received one, from a queue that this thread polls.
class BareStreams {
 public:
  BareStreams(const std::string& address, int64_t streams, grpc::ByteBuffer request) : request_(std::move(request)) {
    const auto channel = NewChannel(address, "bare");
    for (int64_t i = 0; i < streams; ++i) {
      streams_.push_back(std::make_unique<RpcStream>(channel, kProcessMethod, CallMetadata(), &queue_, nullptr));
      streams_.back()->Write(request_);
    }
    Exchange(2 * streams);  // The first answers of a stream are different.
  }
  ~BareStreams() {
    for (const auto& stream : streams_) {
      stream->Cancel();
    }
    while (!streams_.empty()) {
      Next();
      streams_.erase(
          std::remove_if(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->has_ended(); }),
          streams_.end());
    }
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  void Exchange(int64_t messages) {
    for (int64_t received = 0; received < messages;) {
      if (Next() == RpcStream::Event::kMessage) {
        ++received;
      }
    }
  }

 private:
  RpcStream::Event Next() {
    void* tag = nullptr;
    bool ok = false;
    WAGGLE_CHECK(queue_.Next(&tag, &ok), "streams are under way");
    const auto* const operation = static_cast<const RpcStream::Operation*>(tag);
    const RpcStream::Event event = operation->stream->Take(*operation, ok);
    if (event == RpcStream::Event::kMessage) {
      operation->stream->ReadNext();
      operation->stream->Write(request_);
    }
    return event;
  }

  const grpc::ByteBuffer request_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<RpcStream>> streams_;
};

// Lanes with constant actions.
class Lanes {
 public:
  Lanes(const std::string& address, int64_t lanes, int64_t batch) : actions_(static_cast<size_t>(lanes), 1) {
    RpcEnvironmentsOptions options;
    options.servers = {{address, NewChannel(address, "lanes")}};
    options.session.spec.environment_name = "dm_env_rpc";
    options.lanes = lanes;
    options.batch = batch;
    environments_ = Must(RpcEnvironments::Create(std::move(options), StopToken()));
    WAGGLE_CHECK(environments_->Reset().ok(), "lanes begin");
    at_least_ = batch;
  }

  void Step(int64_t rows) {
    for (int64_t received = 0; received < rows;) {
      const ReadyLanes ready = Must(environments_->Recv(std::max<int64_t>(1, at_least_), StopToken()));
      received += static_cast<int64_t>(ready.lanes.size());
      const void* const actions[] = {actions_.data()};
      WAGGLE_CHECK(environments_->Send(ready.lanes, actions).ok(), "lanes are stepped");
    }
  }

 private:
  std::vector<int64_t> actions_;
  std::unique_ptr<RpcEnvironments> environments_;
  int64_t at_least_ = 0;
};

// `address` is the lanes' server; the bare streams always use a server that reads nothing.
Result Beside(const CannedService& service, const std::string& bare_address, const std::string& address, int64_t lanes,
              int64_t batch) {
  BareStreams bare(bare_address, batch > 0 ? 1 : lanes, service.canned().step_request());
  Lanes own(address, lanes, batch);
  const int64_t rows = batch > 0 ? kRows * batch : kRows;
  const TimingBesideLimit timing = TimeBesideLimit([&] { own.Step(rows); }, [&] { bare.Exchange(kRows); });
  const double bare_rate = static_cast<double>(kRows) / absl::ToDoubleSeconds(timing.limit.best);
  return Rate(timing.call, static_cast<double>(rows), "rows/s", bare_rate, "messages of bare gRPC streams");
}

Result ClientBeside(int64_t lanes) {
  CannedService service;
  const auto server = Must(RpcServer::Start("127.0.0.1:0", {&service}));
  return Beside(service, server->address(), server->address(), lanes, 0);
}

Result BothBeside(int64_t lanes, int64_t batch) {
  CannedService service;
  const auto bare = Must(RpcServer::Start("127.0.0.1:0", {&service}));
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  const auto worlds =
      Must(ServedWorlds::Create(Must(definitions.Find("CartPole-v1")), EnvironmentOptions(), 1, int64_t{1} << 30));
  EnvironmentService environments(worlds.get());
  const auto server = Must(RpcServer::Start("127.0.0.1:0", {&environments}));
  return Beside(service, bare->address(), server->address(), lanes, batch);
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  using namespace waggle::bench;
  std::vector<Case> cases;
  for (const int64_t lanes : {1, 16, 64}) {
    cases.push_back({absl::StrCat("environment_rpc_client_lanes_", lanes), [lanes] { return ClientBeside(lanes); }});
    cases.push_back({absl::StrCat("environment_rpc_cartpole_lanes_", lanes), [lanes] { return BothBeside(lanes, 0); }});
  }
  cases.push_back({"environment_rpc_cartpole_batch_64", [] { return BothBeside(64, 64); }});
  return RunCases(argc, argv, cases);
}
