#include "common/hub/hub_convert.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

EnvironmentSpec CartPole() {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  environment.max_episode_steps = 500;
  return environment;
}

// Two agents, with leaves of every kind.
EnvironmentSpec ManyLeaves() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EnvironmentSpec environment;
  environment.name = "Soccer";
  environment.rewards.clear();
  for (const std::string agent : {"red", "blue"}) {
    environment.observations.push_back(Box(agent + "/observation/camera", DType::kUint8, {4, 4, 3}, 0, 255));
    environment.observations.push_back(Discrete(agent + "/observation/foot", 2));
    environment.observations.push_back(MultiBinary(agent + "/action_mask/move", {7}));
    environment.actions.push_back(MultiDiscrete(agent + "/action/move", {3, 4}));
    environment.actions.push_back(Box(agent + "/action/turn", DType::kFloat32, {2}, {-1, -kInfinity}, {0.1, 7}));
    environment.rewards.push_back(ArraySpec{agent + "/reward", DType::kFloat32, {2}});
  }
  return environment;
}

std::string ProtoName(const std::string& prefix, const std::string& name) {
  return prefix + absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}, {" ", "_"}}));
}

TEST_CASE("Messages survive the round trip", "[unit]") {
  CHECK(ValueOf(FromProto(ToProto(CartPole()))) == CartPole());
  CHECK(ValueOf(FromProto(ToProto(ManyLeaves()))) == ManyLeaves());
  CHECK(FromProto(ToProto(ModelVersion{3, 7})) == ModelVersion{3, 7});
  for (int number = 1; number <= v1::Role_MAX; ++number) {
    const auto role = static_cast<v1::Role>(number);
    CHECK(v1::Role_Name(role) == ProtoName("ROLE_", RoleName(ValueOf(FromProto(role)))));
  }
  for (int number = 1; number <= v1::RunState_MAX; ++number) {
    const auto state = static_cast<v1::RunState>(number);
    CHECK(v1::RunState_Name(state) == ProtoName("RUN_STATE_", RunStateName(ValueOf(FromProto(state)))));
  }

  const Evaluation evaluation = FromProto(ToProto(Evaluation{{1, 2}, 20, 3.5, -1, 9, 2.5, 30.5, 4'000, {0.5, -2}}));
  CHECK(evaluation.version == ModelVersion{1, 2});
  CHECK(evaluation.episodes == 20);
  CHECK(evaluation.mean_return == 3.5);
  CHECK(evaluation.min_return == -1);
  CHECK(evaluation.max_return == 9);
  CHECK(evaluation.standard_deviation == 2.5);
  CHECK(evaluation.mean_length == 30.5);
  CHECK(evaluation.env_steps == 4'000);
  CHECK(evaluation.mean_rewards == std::vector<double>{0.5, -2});

  Assignment assignment;
  assignment.run_state = RunState::kSolved;
  assignment.experiment_yaml = "text";
  assignment.environment = CartPole();
  assignment.replay_servers = {"a:1", "b:2"};
  assignment.learners = {"l:1"};
  assignment.reducers = {"", "r:2"};
  assignment.model_version = ModelVersion{4, 5};
  assignment.actors = 3;
  assignment.said_at = absl::FromUnixMicros(12'345);
  assignment.result = RunResult{evaluation, true};
  assignment.group = GroupSeat{9, 1, 3};
  assignment.settings = "a=1\n";
  assignment.evaluated_rewards = {0.5, -2};
  assignment.exploit = {"pole-2", 7};
  const Assignment returned = ValueOf(FromProto(ToProto(assignment)));
  CHECK(returned.run_state == RunState::kSolved);
  CHECK(returned.experiment_yaml == "text");
  CHECK(returned.environment == CartPole());
  CHECK(returned.replay_servers == assignment.replay_servers);
  CHECK(returned.learners == assignment.learners);
  CHECK(returned.reducers == assignment.reducers);
  CHECK(returned.evaluated_rewards == assignment.evaluated_rewards);
  CHECK(returned.model_version == ModelVersion{4, 5});
  CHECK(returned.actors == 3);
  CHECK(returned.said_at == assignment.said_at);
  CHECK(returned.result->evaluation.mean_return == 3.5);
  CHECK(returned.result->confirmed);
  CHECK(returned.group == GroupSeat{9, 1, 3});
  CHECK(returned.settings == "a=1\n");
  CHECK(returned.exploit == Exploit{"pole-2", 7});
  CHECK(ValueOf(FromProto(ToProto(Assignment{}))).exploit == Exploit());
  CHECK_FALSE(ValueOf(FromProto(ToProto(Assignment{}))).environment.has_value());
  CHECK_FALSE(ValueOf(FromProto(ToProto(Assignment{}))).group.has_value());
  assignment.group = GroupSeat{9, 3, 3};
  REQUIRE_CODE(FromProto(ToProto(assignment)), absl::StatusCode::kInvalidArgument);

  ModelSnapshot snapshot;
  snapshot.model = "m";
  snapshot.version = {1, 2};
  snapshot.tensors = {{"w", DType::kBfloat16, {2, 3}}};
  snapshot.network_hash = 99;
  const ModelSnapshot model = ValueOf(FromProto(ToProto(snapshot)));
  CHECK(model.model == "m");
  CHECK(model.version == ModelVersion{1, 2});
  CHECK(model.tensors == snapshot.tensors);
  CHECK(model.network_hash == 99);
}

TEST_CASE("Invalid messages are refused with the mistake", "[unit]") {
  CHECK(FromProto(v1::ROLE_UNSPECIFIED).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(FromProto(static_cast<v1::Role>(42)).status().message()), Catch::Contains("42 is not a role"));
  CHECK_THAT(std::string(FromProto(static_cast<v1::RunState>(42)).status().message()),
             Catch::Contains("42 is not a run state"));

  v1::ModelHeader header;
  header.add_tensors()->set_name("w");
  CHECK_THAT(std::string(FromProto(header).status().message()), Catch::Contains("0 is not an element type"));
}

std::string Refusal(const v1::EnvironmentSpec& environment) {
  const absl::Status status = FromProto(environment).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST_CASE("An invalid environment is refused with its wrong leaf", "[unit]") {
  using Catch::Contains;
  CHECK_THAT(Refusal(v1::EnvironmentSpec()), Contains("environment name"));
  v1::EnvironmentSpec environment = ToProto(CartPole());
  environment.mutable_actions(0)->set_kind(v1::SpaceLeaf::KIND_UNSPECIFIED);
  CHECK(Refusal(environment) == "environment: action: 0 is not a kind of space");
  environment.mutable_actions(0)->set_kind(static_cast<v1::SpaceLeaf::Kind>(1'000'000));
  CHECK(Refusal(environment) == "environment: action: 1000000 is not a kind of space");
  environment = ToProto(CartPole());
  environment.mutable_observations(0)->mutable_array()->add_shape(-1);
  CHECK_THAT(Refusal(environment), Contains("observation") && Contains("negative dimension"));
  environment = ToProto(CartPole());
  environment.mutable_observations(0)->clear_array();
  CHECK_THAT(Refusal(environment), Contains("0 is not an element type"));
  environment = ToProto(CartPole());
  environment.mutable_rewards(0)->set_name("reword");
  CHECK_THAT(Refusal(environment), Contains("\"reword\"; wanted [AGENT/]ROOT"));
  environment = ToProto(CartPole());
  environment.clear_rewards();
  CHECK_THAT(Refusal(environment), Contains("no reward reward"));
  environment = ToProto(ManyLeaves());
  environment.mutable_actions(1)->set_low(0, std::numeric_limits<double>::quiet_NaN());
  CHECK_THAT(Refusal(environment), Contains("red/action/turn") && Contains("wanted low < high"));
  environment = ToProto(ManyLeaves());
  environment.mutable_actions(0)->set_num_values(1, std::numeric_limits<int64_t>::max());
  CHECK_THAT(Refusal(environment), Contains("red/action/move") && Contains("choices; wanted 1 to"));
}

TEST_CASE("Lists of an environment that are too long are refused before they are copied", "[unit]") {
  using Catch::Contains;
  const auto lengthened = [](void (*lengthen)(v1::SpaceLeaf * action)) {
    v1::EnvironmentSpec environment = ToProto(CartPole());
    lengthen(environment.mutable_actions(0));
    return Refusal(environment);
  };
  CHECK(lengthened([](v1::SpaceLeaf* action) { action->add_num_values(2); }) ==
        "environment: action: int64[]: a list of 2 choices or bounds; wanted at most one an element");
  CHECK_THAT(lengthened([](v1::SpaceLeaf* action) { action->mutable_low()->Resize(1'000, 0); }),
             Contains("a list of 1000"));
  CHECK_THAT(lengthened([](v1::SpaceLeaf* action) { action->mutable_high()->Resize(1'000, 0); }),
             Contains("a list of 1000"));
  v1::EnvironmentSpec environment = ToProto(CartPole());
  for (int i = 0; i < 100'000; ++i) {
    environment.add_observations();
  }
  CHECK(Refusal(environment) == "environment: has 100003 leaves; wanted at most 256");
}

}  // namespace
}  // namespace waggle
