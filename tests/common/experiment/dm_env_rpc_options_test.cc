#include "common/experiment/dm_env_rpc_options.h"

#include <string>
#include <vector>

#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/yaml_file.h"
#include "common/experiment/sections.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

struct File {
  EnvironmentOptions environment;
  void Visit(ConfigVisitor& visitor) { visitor.Section("environment", &environment); }
};

absl::StatusOr<EnvironmentOptions> Read(const std::string& yaml) {
  const YamlNode root = ValueOf(ParseYaml(yaml, "x.yaml"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  File file;
  file.Visit(reader);
  reader.Finish();
  const absl::Status status = errors.ToStatus();
  return status.ok() ? absl::StatusOr<EnvironmentOptions>(file.environment) : status;
}

std::string Refusal(const std::string& yaml) {
  const auto read = Read(yaml);
  REQUIRE_CODE(read, absl::StatusCode::kInvalidArgument);
  return std::string(read.status().message());
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

  File file{options};
  ConfigWriter writer;
  file.Visit(writer);
  const EnvironmentOptions again = ValueOf(Read(writer.text()));
  CHECK(again.dm_env_rpc.address == read.address);
  CHECK(again.dm_env_rpc.observations == read.observations);
  CHECK(again.dm_env_rpc.metadata == read.metadata);
  CHECK(again.dm_env_rpc.ca_file == read.ca_file);
}

TEST_CASE("An environment without the section is built in", "[unit]") {
  EnvironmentOptions options = ValueOf(Read("environment: {name: CartPole-v1}"));
  CHECK(options.is_built_in());
  File file{options};
  ConfigWriter writer;
  file.Visit(writer);
  CHECK(writer.text().find("dm_env_rpc") == std::string::npos);
}

TEST_CASE("Wrong values in a section of dm_env_rpc are refused", "[unit]") {
  const auto refusal = [](const std::string& keys) { return Refusal("environment: {dm_env_rpc: {" + keys + "}}"); };
  CHECK_THAT(refusal("world: {a: 1}"), Catch::Contains("dm_env_rpc.address: got none"));
  CHECK_THAT(refusal("address: a:1"), Catch::Contains("dm_env_rpc.address: got \"a:1\"; wanted a list"));
  CHECK_THAT(refusal("address: [a:1, b]"), Catch::Contains("dm_env_rpc.address[1]: got \"b\"; wanted HOST:PORT"));
  CHECK_THAT(refusal("address: [0.0.0.0:1]"), Catch::Contains("wanted HOST:PORT"));
  CHECK_THAT(refusal("address: [a:1], world: [1]"), Catch::Contains("dm_env_rpc.world: got [1]; wanted a mapping"));
  CHECK_THAT(refusal("address: [a:1], world_name: b"), Catch::Contains("means nothing with create_world: true"));
  CHECK_THAT(refusal("address: [a:1], create_world: false, world: {}"),
             Catch::Contains("means nothing with create_world: false"));
  CHECK_THAT(refusal("address: [a:1], create_world: false, seed: world"), Catch::Contains("dm_env_rpc.seed"));
  CHECK_THAT(refusal("address: [a:1], ca_file: b"), Catch::Contains("means nothing without credentials: tls"));
  CHECK_THAT(Refusal("environment: {name: CartPole-v1, dm_env_rpc: {address: [a:1]}}"),
             Catch::Contains("means nothing beside dm_env_rpc"));
  CHECK_THAT(Refusal("environment: {gymnasium: {id: A-v1}, dm_env_rpc: {address: [a:1]}}"),
             Catch::Contains("wanted one"));
  CHECK_THAT(Refusal("environment: {dm_env_rpc: {address: [a:1]}, processes: 2}"), Catch::Contains("processes"));
}

}  // namespace
}  // namespace waggle
