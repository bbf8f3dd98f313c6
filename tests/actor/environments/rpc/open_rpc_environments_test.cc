#include "actor/environments/rpc/open_rpc_environments.h"

#include <string>
#include <vector>

#include "actor/environments/environment.h"
#include "actor/environments/open_environment.h"
#include "tests/actor/environments/rpc/scripted_server.h"
#include "tests/actor/environments/rpc/served.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::BuiltIn;
using testing::ScriptedServer;
using testing::Served;
using testing::ValueOf;
using Exchange = ScriptedServer::Exchange;

TEST_CASE("An experiment's section opens lanes at its servers", "[grpc]") {
  const Served served(BuiltIn("CartPole-v1"));
  EnvironmentOptions options;
  options.dm_env_rpc.address = {served.address()};
  options.dm_env_rpc.join = R"({"lanes": 7})";  // `batch` overrides it.
  options.dm_env_rpc.batch = 2;
  options.dm_env_rpc.seed = "join";
  options.dm_env_rpc.credentials = "local";
  LaneOptions lanes;
  lanes.lanes = 3;
  const auto environment = ValueOf(OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(1), StopToken()));
  CHECK(environment->spec().name == "dm_env_rpc");
  CHECK(environment->lanes() == 3);
  CHECK(environment->health().processes == 2);
  REQUIRE_OK(environment->Reset());
  CHECK(ValueOf(environment->Recv(3, StopToken())).lanes.size() == 3);
}

TEST_CASE("Settings, metadata and requested observations arrive unchanged", "[grpc]") {
  std::string world;
  std::string join;
  std::string token;
  std::vector<uint64_t> asked;
  const ScriptedServer server([&](Exchange* exchange) {
    const dm::EnvironmentRequest& request = exchange->request;
    if (request.has_create_world()) {
      world = request.create_world().settings().at("level").strings().array(0);
      token = std::string(exchange->metadata.find("x-token")->second.data(), 3);
    } else if (request.has_join_world()) {
      join = request.join_world().world_name();
      CHECK(request.join_world().settings().at("team.number").int64s().array(0) == 2);
    } else if (request.has_step()) {
      asked.assign(request.step().requested_observations().begin(), request.step().requested_observations().end());
    }
  });
  DmEnvRpcOptions options;
  options.address = {server.address()};
  options.world = R"({"level": "maze"})";
  options.join = R"({"team": {"number": 2}})";
  options.metadata = R"({"x-token": "abc"})";
  options.observations = {"place"};
  {
    const auto environment = ValueOf(OpenRpcEnvironments(options, 1, /*in_order=*/false, Rng(1), StopToken()));
    REQUIRE_OK(environment->Reset());
    REQUIRE_OK(environment->Recv(1, StopToken()));
  }
  CHECK(world == "maze");
  CHECK(join == "world");
  CHECK(token == "abc");
  CHECK(asked == std::vector<uint64_t>{ScriptedServer::kPlace, ScriptedServer::kReward});
}

TEST_CASE("Settings that cannot be sent are refused by their key, before a stream is opened", "[unit]") {
  const auto refusal = [](const std::function<void(DmEnvRpcOptions*)>& change) {
    DmEnvRpcOptions options;
    options.address = {"127.0.0.1:1"};
    change(&options);
    return std::string(OpenRpcEnvironments(options, 1, false, Rng(1), StopToken()).status().message());
  };
  CHECK_THAT(refusal([](auto* options) { options->world = R"({"a": null})"; }),
             Catch::StartsWith("environment.dm_env_rpc.world.a: got null"));
  CHECK_THAT(refusal([](auto* options) { options->join = R"({"a": [1, "x"]})"; }),
             Catch::StartsWith("environment.dm_env_rpc.join.a: "));
  for (const char* const metadata :
       {R"({"Token": "a"})", R"({"grpc-timeout": "a"})", R"({"x-bin": "a"})", R"({"": "a"})", R"({"a b": "a"})",
        R"({"token": 7})", R"({"token": "ä"})", R"({"token": "a\nb"})"}) {
    CHECK_THAT(refusal([&](auto* options) { options->metadata = metadata; }),
               Catch::StartsWith("environment.dm_env_rpc.metadata."));
  }
  CHECK_THAT(refusal([](auto* options) {
               options->credentials = "tls";
               options->ca_file = "/no/such/file";
             }),
             Catch::StartsWith("environment.dm_env_rpc.ca_file: "));
}

}  // namespace
}  // namespace waggle
