#include "actor/environments/rpc/environment_session.h"

#include <atomic>
#include <memory>
#include <string>

#include "actor/environments/rpc/environment_stream.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/stop_token.h"
#include "dm_env_rpc/v1/extensions/properties.pb.h"
#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"
#include "tests/support/recording_peer.h"

namespace waggle {
namespace {

using testing::ManyLeaves;
using testing::RecordingPeer;
using testing::ValueOf;
using Peer = RecordingPeer<Message<dm::EnvironmentResponse>>;

// A client's stream, without a network.
class Client {
 public:
  explicit Client(ServedWorlds* worlds) : session_(std::make_unique<EnvironmentSession>(worlds)) {
    session_->OnOpen(peer_);
  }

  dm::EnvironmentResponse Ask(const dm::EnvironmentRequest& request, const std::string& extension = "") {
    Message<dm::EnvironmentRequest> message;
    message.header = request;
    if (!extension.empty()) {
      const auto owner = std::make_shared<std::string>(extension);
      message.data.Append({owner->data(), owner->size(), owner});
    }
    session_->OnMessage(std::move(message));
    return peer_->messages().back().header;
  }
  dm::EnvironmentResponse Join(const std::string& world) {
    dm::EnvironmentRequest request;
    request.mutable_join_world()->set_world_name(world);
    return Ask(request);
  }
  dm::EnvironmentResponse Step() {
    dm::EnvironmentRequest request;
    request.mutable_step();
    return Ask(request);
  }
  Peer& peer() { return *peer_; }
  EnvironmentSession& session() { return *session_; }

 private:
  const std::shared_ptr<Peer> peer_ = std::make_shared<Peer>();
  const std::unique_ptr<EnvironmentSession> session_;
};

class Server {
 public:
  ServedWorlds* worlds() { return worlds_.get(); }

 private:
  const EnvironmentDefinition definition_ = ManyLeaves::Definition();
  const std::unique_ptr<ServedWorlds> worlds_ =
      ValueOf(ServedWorlds::Create(&definition_, EnvironmentOptions(), 1, int64_t{1} << 30));
};

int CodeOf(const dm::EnvironmentResponse& response) {
  return response.error().code();
}

TEST_CASE("Every request has an answer of its kind, and a request that is too early has an error", "[unit]") {
  Server server;
  Client client(server.worlds());
  dm::EnvironmentRequest request;
  request.mutable_create_world();
  const std::string world = client.Ask(request).create_world().world_name();
  CHECK(CodeOf(client.Step()) == static_cast<int>(absl::StatusCode::kFailedPrecondition));
  request.mutable_reset();
  CHECK(CodeOf(client.Ask(request)) == static_cast<int>(absl::StatusCode::kFailedPrecondition));
  CHECK(CodeOf(client.Join("no world")) == static_cast<int>(absl::StatusCode::kNotFound));
  const dm::EnvironmentResponse joined = client.Join(world);
  CHECK(joined.join_world().specs().observations_size() == 4);
  CHECK(CodeOf(client.Join(world)) == static_cast<int>(absl::StatusCode::kFailedPrecondition));
  CHECK(client.Step().step().state() == dm::RUNNING);
  const dm::EnvironmentResponse reset = client.Ask(request);
  CHECK(reset.reset().specs().SerializeAsString().size() == joined.join_world().specs().SerializeAsString().size());
  CHECK(client.Step().step().state() == dm::RUNNING);
  request.mutable_reset_world()->set_world_name(world);
  CHECK(client.Ask(request).has_reset_world());
  (*request.mutable_reset_world()->mutable_settings())["lanes"];
  CHECK(CodeOf(client.Ask(request)) == static_cast<int>(absl::StatusCode::kInvalidArgument));
  request.mutable_destroy_world()->set_world_name(world);
  CHECK(CodeOf(client.Ask(request)) == static_cast<int>(absl::StatusCode::kFailedPrecondition));
  request.mutable_leave_world();
  CHECK(client.Ask(request).has_leave_world());
  CHECK(client.Ask(request).has_leave_world());
  request.mutable_destroy_world()->set_world_name(world);
  CHECK(client.Ask(request).has_destroy_world());
  CHECK(CodeOf(client.Ask(dm::EnvironmentRequest())) == static_cast<int>(absl::StatusCode::kInvalidArgument));
  CHECK(client.peer().requests() == static_cast<int>(client.peer().messages().size()));
  CHECK_FALSE(client.peer().closed().has_value());
  client.session().OnPeerDone();
  CHECK(client.peer().closed() == absl::OkStatus());
}

TEST_CASE("The end of a client's stream leaves its world", "[unit]") {
  Server server;
  const std::string world = ValueOf(server.worlds()->CreateWorld({}));
  {
    Client client(server.worlds());
    client.Join(world);
    REQUIRE_CODE(server.worlds()->Destroy(world), absl::StatusCode::kFailedPrecondition);
  }
  REQUIRE_OK(server.worlds()->Destroy(world));
}

TEST_CASE("A slow request does not block the transport's threads, and its stream may end meanwhile", "[unit]") {
  EnvironmentDefinition definition = ManyLeaves::Definition();
  std::atomic<bool> is_slow{false};
  const StopToken finish;
  definition.create = [&, create = definition.create](const EnvironmentOptions& options, uint64_t seed) {
    if (is_slow) {
      finish.Wait();
    }
    return create(options, seed);
  };
  const auto worlds = ValueOf(ServedWorlds::Create(&definition, EnvironmentOptions(), 1, int64_t{1} << 30));
  const std::string world = ValueOf(worlds->CreateWorld({}));
  Message<dm::EnvironmentRequest> join;
  join.header.mutable_join_world()->set_world_name(world);
  const auto peer = std::make_shared<Peer>();
  const auto lost = std::make_shared<Peer>();
  {
    Executor executor("environments", 2, 10);
    EnvironmentStream stays(worlds.get(), &executor);
    auto leaves = std::make_unique<EnvironmentStream>(worlds.get(), &executor);
    stays.OnOpen(peer);
    leaves->OnOpen(lost);
    is_slow = true;
    stays.OnMessage(join);
    leaves->OnMessage(join);
    leaves.reset();
    CHECK(peer->messages().empty());
    finish.RequestStop();
    REQUIRE(peer->AwaitRequests(1));
    CHECK(peer->messages()[0].header.has_join_world());
    REQUIRE(lost->AwaitMessages(1));
    REQUIRE_CODE(worlds->Destroy(world), absl::StatusCode::kFailedPrecondition);
  }
  REQUIRE_OK(worlds->Destroy(world));
}

TEST_CASE("Another client's reset of the world interrupts the sequence once", "[unit]") {
  Server server;
  const std::string world = ValueOf(server.worlds()->CreateWorld({}));
  Client client(server.worlds());
  client.Join(world);
  client.Step();
  REQUIRE_OK(server.worlds()->Interrupt(world, nullptr));
  dm::EnvironmentRequest wrong;
  wrong.mutable_step()->add_requested_observations(1000);
  CHECK(client.Ask(wrong).has_error());  // It does not report the interruption.
  CHECK(client.Step().step().state() == dm::INTERRUPTED);
  CHECK(client.Step().step().state() == dm::RUNNING);
}

TEST_CASE("Properties are read and listed, and other extensions are refused", "[unit]") {
  namespace extension = ::dm_env_rpc::v1::extensions::properties;
  Server server;
  Client client(server.worlds());
  const auto ask = [&client](const extension::PropertyRequest& request) {
    google::protobuf::Any packed;
    packed.PackFrom(request);
    return client.Ask(dm::EnvironmentRequest(), packed.SerializeAsString());
  };
  extension::PropertyRequest request;
  request.mutable_list_property();
  extension::PropertyResponse answer;
  REQUIRE(ask(request).extension().UnpackTo(&answer));
  CHECK(answer.list_property().values_size() == 3);
  CHECK(answer.list_property().values(0).is_readable());
  request.mutable_read_property()->set_key("environment");
  REQUIRE(ask(request).extension().UnpackTo(&answer));
  CHECK(answer.read_property().value().strings().array(0) == ManyLeaves(0).spec().name);
  request.mutable_read_property()->set_key("nothing");
  CHECK(CodeOf(ask(request)) == static_cast<int>(absl::StatusCode::kNotFound));
  request.mutable_list_property()->set_key("nothing");
  CHECK(CodeOf(ask(request)) == static_cast<int>(absl::StatusCode::kNotFound));
  request.mutable_write_property()->set_key("environment");
  CHECK(CodeOf(ask(request)) == static_cast<int>(absl::StatusCode::kPermissionDenied));
  CHECK(CodeOf(ask(extension::PropertyRequest())) == static_cast<int>(absl::StatusCode::kInvalidArgument));
  google::protobuf::Any other;
  other.PackFrom(dm::Tensor());
  CHECK(CodeOf(client.Ask({}, other.SerializeAsString())) == static_cast<int>(absl::StatusCode::kUnimplemented));
  CHECK(CodeOf(client.Ask({}, "\xff")) == static_cast<int>(absl::StatusCode::kInvalidArgument));
  CHECK(CodeOf(client.Ask({}, std::string(100'000, 'x'))) == static_cast<int>(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace waggle
