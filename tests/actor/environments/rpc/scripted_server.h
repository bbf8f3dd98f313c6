#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "actor/environments/rpc/protocol.h"
#include "common/base/threads/mutex.h"
#include "common/net/bidi_reactor.h"
#include "common/net/server.h"
#include "dm_env_rpc/v1/dm_env_rpc.grpc.pb.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// A dm_env_rpc server whose answers a test may change. Its environment shows the number of the step in its sequence,
// rewards each step with 1, and terminates after five.
class ScriptedServer {
 public:
  using Peer = StreamPeer<Message<dm::EnvironmentResponse>>;

  // A request and its answer before it is sent.
  struct Exchange {
    int stream = 0;     // Streams are counted from 0.
    int64_t steps = 0;  // Steps answered on this stream before.
    const dm::EnvironmentRequest& request;
    dm::EnvironmentResponse response;
    bool is_answered = true;
    Peer* peer = nullptr;
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata;
  };
  // May change the exchange. Called from gRPC's threads, for several streams at a time.
  using Trick = std::function<void(Exchange* exchange)>;

  static constexpr uint64_t kPlace = 7;
  static constexpr uint64_t kReward = 9;
  static constexpr uint64_t kGo = 5;
  static constexpr int64_t kLength = 5;

  explicit ScriptedServer(Trick trick, const std::string& listen = "127.0.0.1:0")
      : service_(std::move(trick)), server_(ValueOf(RpcServer::Start(listen, {&service_}))) {}

  const std::string& address() const { return server_->address(); }
  int streams() const { return service_.streams(); }

 private:
  static void AddSpec(uint64_t uid, const std::string& name, dm::DataType type,
                      google::protobuf::Map<uint64_t, dm::TensorSpec>* specs) {
    dm::TensorSpec& spec = (*specs)[uid];
    spec.set_name(name);
    spec.set_dtype(type);
  }

  class Handler final : public StreamHandler<Message<dm::EnvironmentRequest>, Message<dm::EnvironmentResponse>> {
   public:
    Handler(int stream, const Trick& trick, const grpc::CallbackServerContext* context)
        : stream_(stream), trick_(trick), context_(context) {}
    void OnOpen(std::shared_ptr<Peer> peer) override { peer_ = std::move(peer); }
    void OnPeerDone() override { peer_->Close(absl::OkStatus()); }
    void OnMessage(Message<dm::EnvironmentRequest> message) override {
      Exchange exchange{stream_, steps_, message.header, {}, true, peer_.get(), context_->client_metadata()};
      Answer(message.header, &exchange.response);
      trick_(&exchange);
      if (exchange.is_answered) {
        Message<dm::EnvironmentResponse> response;
        response.header = std::move(exchange.response);
        peer_->Send(std::move(response));
      }
      peer_->RequestNext();
    }

   private:
    void Answer(const dm::EnvironmentRequest& request, dm::EnvironmentResponse* response) {
      switch (request.payload_case()) {
        case dm::EnvironmentRequest::kCreateWorld:
          response->mutable_create_world()->set_world_name("world");
          return;
        case dm::EnvironmentRequest::kJoinWorld:
          return WriteSpecs(response->mutable_join_world()->mutable_specs());
        case dm::EnvironmentRequest::kReset:
          step_ = kLength;
          return WriteSpecs(response->mutable_reset()->mutable_specs());
        case dm::EnvironmentRequest::kStep:
          return WriteStep(response->mutable_step());
        case dm::EnvironmentRequest::kLeaveWorld:
          response->mutable_leave_world();
          return;
        default:
          response->mutable_destroy_world();
      }
    }

    static void WriteSpecs(dm::ActionObservationSpecs* specs) {
      AddSpec(kPlace, "place", dm::FLOAT, specs->mutable_observations());
      AddSpec(kReward, "reward", dm::FLOAT, specs->mutable_observations());
      AddSpec(kGo, "go", dm::INT64, specs->mutable_actions());
      dm::TensorSpec& go = (*specs->mutable_actions())[kGo];
      go.mutable_min()->mutable_int64s()->add_array(0);
      go.mutable_max()->mutable_int64s()->add_array(1);
    }

    void WriteStep(dm::StepResponse* response) {
      step_ = step_ == kLength ? 0 : step_ + 1;
      ++steps_;
      response->set_state(step_ == kLength ? dm::TERMINATED : dm::RUNNING);
      auto& observations = *response->mutable_observations();
      observations[kPlace].mutable_floats()->add_array(static_cast<float>(step_));
      observations[kReward].mutable_floats()->add_array(1);
    }

    const int stream_;
    const Trick& trick_;
    const grpc::CallbackServerContext* const context_;
    std::shared_ptr<Peer> peer_;
    int64_t step_ = kLength;
    int64_t steps_ = 0;
  };

  class Service final : public dm::Environment::WithRawCallbackMethod_Process<dm::Environment::Service> {
   public:
    explicit Service(Trick trick) : trick_(std::move(trick)) {}
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Process(
        grpc::CallbackServerContext* context) override {
      return new BidiReactor<dm::EnvironmentRequest, dm::EnvironmentResponse>(
          context, std::make_unique<Handler>(streams_++, trick_, context));
    }
    int streams() const { return streams_; }

   private:
    const Trick trick_;
    std::atomic<int> streams_{0};  // Opened from gRPC's threads.
  };

  Service service_;
  const std::unique_ptr<RpcServer> server_;
};

}  // namespace waggle::testing
