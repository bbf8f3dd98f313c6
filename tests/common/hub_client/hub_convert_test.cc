#include "common/hub_client/hub_convert.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

EnvironmentSpec Discrete() {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observation = {"observation", DType::kFloat32, {4}};
  environment.action.num_values = 2;
  environment.max_episode_steps = 500;
  return environment;
}

EnvironmentSpec Continuous() {
  EnvironmentSpec environment = Discrete();
  environment.action.kind = ActionSpec::Kind::kContinuous;
  environment.action.num_values = 0;
  environment.action.low = {-1, -2};
  environment.action.high = {1, 2};
  return environment;
}

TEST_CASE("What goes over the wire comes back as it was", "[unit]") {
  CHECK(ValueOf(FromProto(ToProto(Discrete()))) == Discrete());
  CHECK(ValueOf(FromProto(ToProto(Continuous()))) == Continuous());
  CHECK(FromProto(ToProto(ModelVersion{3, 7})) == ModelVersion{3, 7});
  for (const Role role : {Role::kActor, Role::kLearner, Role::kReplayServer, Role::kParamServer, Role::kEvaluator}) {
    CHECK(ValueOf(FromProto(ToProto(role))) == role);
  }
  for (const RunState state : {RunState::kNoExperiment, RunState::kRunning, RunState::kFinishing, RunState::kSolved,
                               RunState::kLimit, RunState::kFailed}) {
    CHECK(ValueOf(FromProto(ToProto(state))) == state);
  }

  const Evaluation evaluation = FromProto(ToProto(Evaluation{{1, 2}, 20, 3.5, -1, 9, 2.5, 30.5, 4'000}));
  CHECK(evaluation.version == ModelVersion{1, 2});
  CHECK(evaluation.episodes == 20);
  CHECK(evaluation.mean_return == 3.5);
  CHECK(evaluation.min_return == -1);
  CHECK(evaluation.max_return == 9);
  CHECK(evaluation.standard_deviation == 2.5);
  CHECK(evaluation.mean_length == 30.5);
  CHECK(evaluation.env_steps == 4'000);

  Assignment assignment;
  assignment.run_state = RunState::kSolved;
  assignment.experiment_yaml = "text";
  assignment.environment = Discrete();
  assignment.replay_servers = {"a:1", "b:2"};
  assignment.model_version = ModelVersion{4, 5};
  assignment.actors = 3;
  assignment.said_at = absl::FromUnixMicros(12'345);
  assignment.result = RunResult{evaluation, true};
  const Assignment returned = ValueOf(FromProto(ToProto(assignment)));
  CHECK(returned.run_state == RunState::kSolved);
  CHECK(returned.experiment_yaml == "text");
  CHECK(returned.environment == Discrete());
  CHECK(returned.replay_servers == assignment.replay_servers);
  CHECK(returned.model_version == ModelVersion{4, 5});
  CHECK(returned.actors == 3);
  CHECK(returned.said_at == assignment.said_at);
  CHECK(returned.result->evaluation.mean_return == 3.5);
  CHECK(returned.result->confirmed);
  CHECK_FALSE(ValueOf(FromProto(ToProto(Assignment{}))).environment.has_value());

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

TEST_CASE("What cannot be is refused with what was wrong", "[unit]") {
  CHECK(FromProto(v1::ROLE_UNSPECIFIED).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(FromProto(static_cast<v1::Role>(42)).status().message()), Catch::Contains("42 is not a role"));
  CHECK_THAT(std::string(FromProto(static_cast<v1::RunState>(42)).status().message()),
             Catch::Contains("42 is not a run state"));

  v1::EnvironmentSpec environment = ToProto(Discrete());
  environment.mutable_action()->set_kind(v1::ActionSpec::KIND_UNSPECIFIED);
  CHECK_THAT(std::string(FromProto(environment).status().message()), Catch::Contains("0 is not a kind of action"));
  environment = ToProto(Discrete());
  environment.mutable_observation()->add_shape(-1);
  CHECK_THAT(std::string(FromProto(environment).status().message()), Catch::Contains("negative dimension"));
  environment = ToProto(Continuous());
  environment.mutable_action()->add_low(0);
  CHECK(FromProto(environment).status().code() == absl::StatusCode::kInvalidArgument);

  v1::ModelHeader header;
  header.add_tensors()->set_name("w");
  CHECK_THAT(std::string(FromProto(header).status().message()), Catch::Contains("0 is not an element type"));
}

}  // namespace
}  // namespace waggle
