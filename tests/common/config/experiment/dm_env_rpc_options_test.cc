#include "common/config/experiment/dm_env_rpc_options.h"

#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/sections.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

using testing::ValueOf;

struct File {
  EnvironmentOptions environment;
  void Visit(ConfigVisitor& visitor) { visitor.Section("environment", &environment); }
};

absl::StatusOr<EnvironmentOptions> Read(const std::string& yaml) {
  File file;
  const absl::Status status = testing::ReadFields(yaml, &file);
  return status.ok() ? absl::StatusOr<EnvironmentOptions>(file.environment) : status;
}

constexpr char kYaml[] = R"(
environment:
  dm_env_rpc:
    address: [127.0.0.1:9000, "simulator:9001"]
    world: {level: maze, size: 7}
    join: {team: {number: 2}}
    seed: join
    observations: [RGB, "arm, left"]
    batch: 4
    timeout_seconds: 2.5
    credentials: tls
    ca_file: ca.pem
    metadata: {x-token: abc}
)";

TEST_CASE("A section of dm_env_rpc is read, and written unchanged", "[unit]") {
  EnvironmentOptions options = ValueOf(Read(kYaml));
  CHECK(options.Scheme() == "dm_env_rpc");
  CHECK(options.Offer() == "dm_env_rpc");
  CHECK(options.name == "dm_env_rpc");
  CHECK_FALSE(options.is_built_in());
  CHECK_FALSE(options.is_python());
  const DmEnvRpcOptions& read = options.dm_env_rpc;
  CHECK(read.address == std::vector<std::string>{"127.0.0.1:9000", "simulator:9001"});
  CHECK(read.world == R"({"level":"maze","size":7})");
  CHECK(read.join == R"({"team":{"number":2}})");
  CHECK(read.observations == std::vector<std::string>{"RGB", "arm, left"});
  CHECK(read.batch == 4);
  CHECK(read.timeout_seconds == 2.5);

  const EnvironmentOptions again = ValueOf(Read(testing::Printed(File{options})));
  CHECK(again.dm_env_rpc.address == read.address);
  CHECK(again.dm_env_rpc.observations == read.observations);
  CHECK(again.dm_env_rpc.metadata == read.metadata);
  CHECK(again.dm_env_rpc.ca_file == read.ca_file);
}

TEST_CASE("Wrong values in a section of dm_env_rpc are refused with the key", "[unit]") {
  constexpr std::pair<const char*, const char*> kWrong[] = {
      {"dm_env_rpc: {world: {a: 1}}", "dm_env_rpc.address: "},
      {"dm_env_rpc: {address: a:1}", "dm_env_rpc.address: "},
      {"dm_env_rpc: {address: [a:1, b]}", "dm_env_rpc.address[1]: "},
      {"dm_env_rpc: {address: [0.0.0.0:1]}", "dm_env_rpc.address[0]: "},
      {"dm_env_rpc: {address: [a:1], world: [1]}", "dm_env_rpc.world: "},
      {"dm_env_rpc: {address: [a:1], world_name: b}", "dm_env_rpc.world_name: "},
      {"dm_env_rpc: {address: [a:1], create_world: false, world: {}}", "dm_env_rpc.world: "},
      {"dm_env_rpc: {address: [a:1], create_world: false, seed: world}", "dm_env_rpc.seed: "},
      {"dm_env_rpc: {address: [a:1], ca_file: b}", "dm_env_rpc.ca_file: "},
      {"name: CartPole-v1, dm_env_rpc: {address: [a:1]}", "environment.name: "},
      {"gymnasium: {id: A-v1}, dm_env_rpc: {address: [a:1]}", "dm_env_rpc"},
      {"dm_env_rpc: {address: [a:1]}, processes: 2", "environment.processes: "}};
  for (const auto& [keys, key] : kWrong) {
    INFO(keys);
    const auto read = Read("environment: {" + std::string(keys) + "}");
    REQUIRE_CODE(read, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(read.status().message()), Catch::Contains(key));
  }
}

}  // namespace
}  // namespace waggle
