#include "actor/environments/rpc/served_worlds.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/many_leaves.h"

namespace waggle {
namespace {

using testing::ManyLeaves;
using testing::ValueOf;

constexpr int64_t kPlenty = int64_t{1} << 30;

RpcSettings Settings(const std::string& json) {
  return ValueOf(SettingsFromJson(json, "settings"));
}

// An environment whose steps per episode are an option of its own.
EnvironmentDefinition WithOptions() {
  EnvironmentDefinition definition = ManyLeaves::Definition();
  definition.spec = [](const EnvironmentOptions& options) -> absl::StatusOr<EnvironmentSpec> {
    EnvironmentSpec spec = ManyLeaves(0).spec();
    if (options.options != "{}") {
      return absl::InvalidArgumentError(options.options);
    }
    return spec;
  };
  return definition;
}

dm::ActionObservationSpecs SpecsOf(const WorldMember& member) {
  return member.environment->specs();
}

TEST_CASE("Worlds are made, joined, left and destroyed by their names", "[unit]") {
  const EnvironmentDefinition definition = ManyLeaves::Definition();
  const auto worlds = ValueOf(ServedWorlds::Create(&definition, EnvironmentOptions(), 1, kPlenty));
  const std::string first = ValueOf(worlds->CreateWorld({}));
  const std::string second = ValueOf(worlds->CreateWorld(Settings(R"({"lanes": 3})")));
  CHECK(first != second);
  const auto member = ValueOf(worlds->Join(second, {}));
  CHECK(SpecsOf(*member).actions().at(1).shape(0) == 3);
  REQUIRE_CODE(worlds->Destroy(second), absl::StatusCode::kFailedPrecondition);
  worlds->Leave(member);
  worlds->Leave(member);
  REQUIRE_OK(worlds->Destroy(second));
  REQUIRE_CODE(worlds->Destroy(second), absl::StatusCode::kNotFound);
  REQUIRE_CODE(worlds->Join(second, {}), absl::StatusCode::kNotFound);
  REQUIRE_CODE(worlds->Destroy(""), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(worlds->Join("", {}));
  REQUIRE_OK(worlds->Destroy(first));
}

TEST_CASE("A join's settings override its world's, and both override the environment's options", "[unit]") {
  const EnvironmentDefinition definition = WithOptions();
  EnvironmentOptions options;
  const auto worlds = ValueOf(ServedWorlds::Create(&definition, options, 1, kPlenty));
  const std::string world = ValueOf(worlds->CreateWorld(Settings(R"({"lanes": 3, "seed": 4})")));
  const auto three = ValueOf(worlds->Join(world, {}));
  const auto two = ValueOf(worlds->Join(world, Settings(R"({"lanes": 2})")));
  CHECK(SpecsOf(*three).actions().at(1).shape(0) == 3);
  CHECK(SpecsOf(*two).actions().at(1).shape(0) == 2);
  REQUIRE_OK(worlds->Remake(Settings(R"({"lanes": 5})"), two.get()));
  CHECK(SpecsOf(*two).actions().at(1).shape(0) == 5);
  const auto refused = worlds->Join(world, Settings(R"({"physics": {"gravity": 3}})"));
  CHECK(refused.status().message() == R"({"physics":{"gravity":3}})");
  REQUIRE_CODE(worlds->CreateWorld(Settings(R"({"gravity": 3})")), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(worlds->CreateWorld(Settings(R"({"lanes": 0})")), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(worlds->Join(world, Settings(R"({"lanes": 70000})")), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(worlds->Join(world, Settings(R"({"seed": "x"})")), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(worlds->Remake(Settings(R"({"lanes": -1})"), two.get()), absl::StatusCode::kInvalidArgument);
  CHECK(SpecsOf(*two).actions().at(1).shape(0) == 5);
}

TEST_CASE("The same seed gives the same environment, and joins without one differ", "[unit]") {
  const EnvironmentDefinition definition = *ValueOf(BuiltinEnvironments().Find("CartPole-v1"));
  const auto worlds = ValueOf(ServedWorlds::Create(&definition, EnvironmentOptions(), 1, kPlenty));
  const auto first_of = [&worlds](const RpcSettings& settings) {
    dm::StepRequest request;
    request.add_requested_observations(1);
    dm::StepResponse response;
    REQUIRE_OK(ValueOf(worlds->Join("", settings))->environment->Step(request, false, &response));
    return response.SerializeAsString();
  };
  CHECK(first_of(Settings(R"({"seed": 7})")) == first_of(Settings(R"({"seed": 7})")));
  CHECK(first_of(Settings(R"({"seed": 7})")) != first_of(Settings(R"({"seed": 8})")));
  CHECK(first_of({}) != first_of({}));
}

TEST_CASE("Clients cannot take more memory than the server's budget", "[unit]") {
  const EnvironmentDefinition definition = ManyLeaves::Definition();
  const int64_t a_lane = ServedEnvironment::MemoryBytes(ManyLeaves(0).spec(), 1);
  const auto worlds = ValueOf(ServedWorlds::Create(&definition, EnvironmentOptions(), 1, 10 * a_lane));
  const RpcSettings six = Settings(R"({"lanes": 6})");
  const auto member = ValueOf(worlds->Join("", six));
  REQUIRE_CODE(worlds->Join("", six), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(worlds->Join("", Settings(R"({"lanes": 65536})")), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(worlds->Remake(six, member.get()), absl::StatusCode::kResourceExhausted);
  worlds->Leave(member);
  REQUIRE_OK(worlds->Join("", six));

  RpcSettings large;
  large["name"].mutable_strings()->add_array(std::string(100'000, 'x'));
  REQUIRE_CODE(worlds->CreateWorld(large), absl::StatusCode::kInvalidArgument);
  const std::string joined = ValueOf(worlds->CreateWorld({}));
  REQUIRE_OK(worlds->Join(joined, {}));
  for (size_t i = 0; i < 2 * ServedWorlds::kMaxWorlds; ++i) {
    REQUIRE_OK(worlds->CreateWorld({}));
  }
  REQUIRE_OK(worlds->Interrupt(joined, nullptr));
}

TEST_CASE("A new world replaces the oldest one without members", "[unit]") {
  const EnvironmentDefinition definition = ManyLeaves::Definition();
  const auto worlds = ValueOf(ServedWorlds::Create(&definition, EnvironmentOptions(), 1, kPlenty));
  const auto member = ValueOf(worlds->Join(ValueOf(worlds->CreateWorld({})), {}));
  for (size_t i = 1; i < ServedWorlds::kMaxWorlds + 1; ++i) {
    REQUIRE_OK(worlds->CreateWorld({}));
  }
  REQUIRE_OK(worlds->Interrupt("world-1", nullptr));
  REQUIRE_CODE(worlds->Interrupt("world-2", nullptr), absl::StatusCode::kNotFound);
  REQUIRE_CODE(worlds->Interrupt("world-3", nullptr), absl::StatusCode::kNotFound);
  REQUIRE_OK(worlds->Interrupt("world-4", nullptr));
  REQUIRE_OK(worlds->Interrupt("world-10", nullptr));
}

TEST_CASE("A world's reset interrupts all members except the one that resets it", "[unit]") {
  const EnvironmentDefinition definition = ManyLeaves::Definition();
  const auto worlds = ValueOf(ServedWorlds::Create(&definition, EnvironmentOptions(), 1, kPlenty));
  const std::string world = ValueOf(worlds->CreateWorld({}));
  const auto caller = ValueOf(worlds->Join(world, {}));
  const auto other = ValueOf(worlds->Join(world, {}));
  const auto elsewhere = ValueOf(worlds->Join("", {}));
  REQUIRE_OK(worlds->Interrupt(world, caller.get()));
  CHECK_FALSE(caller->interrupted);
  CHECK(other->interrupted);
  CHECK_FALSE(elsewhere->interrupted);
  REQUIRE_CODE(worlds->Interrupt("world-99", nullptr), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace waggle
