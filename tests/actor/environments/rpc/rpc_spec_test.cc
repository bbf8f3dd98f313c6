#include "actor/environments/rpc/rpc_spec.h"

#include <limits>
#include <string>
#include <vector>

#include "actor/environments/rpc/tensor_elements.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

dm::TensorSpec Spec(const std::string& name, dm::DataType type, const std::vector<int32_t>& shape = {},
                    const std::vector<double>& low = {}, const std::vector<double>& high = {}) {
  dm::TensorSpec spec;
  spec.set_name(name);
  spec.set_dtype(type);
  *spec.mutable_shape() = {shape.begin(), shape.end()};
  if (!low.empty()) {
    WriteBounds(type, low, spec.mutable_min());
  }
  if (!high.empty()) {
    WriteBounds(type, high, spec.mutable_max());
  }
  return spec;
}

// An environment with these observations and one action.
dm::ActionObservationSpecs Specs(const std::vector<dm::TensorSpec>& observations,
                                 const std::vector<dm::TensorSpec>& actions = {Spec("jump", dm::BOOL)}) {
  dm::ActionObservationSpecs specs;
  uint64_t uid = 100;
  for (const dm::TensorSpec& spec : observations) {
    (*specs.mutable_observations())[--uid] = spec;
  }
  for (const dm::TensorSpec& spec : actions) {
    (*specs.mutable_actions())[--uid] = spec;
  }
  return specs;
}

RpcSpecOptions Options(int64_t lanes = 0) {
  RpcSpecOptions options;
  options.environment_name = "dm_env_rpc";
  options.lanes = std::max<int64_t>(lanes, 1);
  options.batched = lanes > 0;
  return options;
}

std::string Refusal(const dm::ActionObservationSpecs& specs, const RpcSpecOptions& options = Options()) {
  const auto spec = ReadSpecs(specs, options);
  REQUIRE_CODE(spec, absl::StatusCode::kInvalidArgument);
  return std::string(spec.status().message());
}

TEST_CASE("Tensors of a server become leaves by their types, shapes and bounds", "[unit]") {
  const RpcSpec spec = ValueOf(ReadSpecs(
      Specs({Spec("RGB", dm::UINT8, {64, 64, 3}, {0}, {255}), Spec("arm.angles", dm::DOUBLE, {2}, {-1, -2}, {1, 2}),
             Spec("phase", dm::INT32, {}, {1}, {4}), Spec("score", dm::INT64, {}, {0}, {1e9}),
             Spec("height", dm::FLOAT, {}, {0}), Spec("touches", dm::BOOL, {5}), Spec("time", dm::UINT64, {}),
             Spec("constant", dm::FLOAT, {}, {3}, {3}), Spec("half", dm::FLOAT, {2}, {0, 3}, {1, 3}),
             Spec("reward", dm::DOUBLE), Spec("discount", dm::FLOAT)},
            {Spec("paddle", dm::INT8, {}, {-1}, {1}), Spec("gears", dm::INT64, {2}, {0, 1}, {2, 4}),
             Spec("turn", dm::FLOAT, {2}, {-2}, {6})}),
      Options()));
  std::vector<std::string> leaves;
  for (const SpaceLeaf& leaf : spec.environment.observations) {
    leaves.push_back(leaf.DebugString());
  }
  CHECK(leaves == std::vector<std::string>{
                      "observation/RGB: uint8[64, 64, 3] in [0, 255]",
                      "observation/arm/angles: float32[2] in [-1, -2] to [1, 2]", "observation/constant: float32[]",
                      "observation/half: float32[2]", "observation/height: float32[] in [0, inf]",
                      "observation/phase: int64[] of 4 choices", "observation/score: int64[] in [0, 1e+09]",
                      "observation/time: int64[]", "observation/touches: bool[5]"});
  leaves.clear();
  for (const SpaceLeaf& leaf : spec.environment.actions) {
    leaves.push_back(leaf.DebugString());
  }
  CHECK(leaves == std::vector<std::string>{"action/gears: int64[2] of 3, 4 choices",
                                           "action/paddle: int64[] of 3 choices",
                                           "action/turn: float32[2] in [-2, 6]"});
  CHECK(spec.actions[0].starts == std::vector<int64_t>{0, 1});
  CHECK(spec.actions[1].starts == std::vector<int64_t>{-1});
  CHECK(spec.observations[5].starts == std::vector<int64_t>{1});
  CHECK(spec.environment.rewards == EnvironmentSpec().rewards);
  CHECK(spec.rewards[0]->type == dm::DOUBLE);
  CHECK(spec.discount.has_value());
  CHECK(spec.Requested().size() == 11);
  REQUIRE(spec.notes.size() == 1);
  CHECK_THAT(spec.notes[0], Catch::Contains("observation/arm/angles"));
}

TEST_CASE("Names with a root do not change, nor do agents", "[unit]") {
  const RpcSpec spec = ValueOf(ReadSpecs(
      Specs({Spec("agent_0.observation", dm::FLOAT, {2}), Spec("agent_1.observation.place", dm::FLOAT, {2}),
             Spec("agent_0.reward", dm::FLOAT), Spec("agent_1.reward", dm::FLOAT, {2})},
            {Spec("agent_0.action", dm::INT32, {}, {0}, {1}), Spec("agent_1.action", dm::FLOAT, {1}, {-1}, {1})}),
      Options()));
  CHECK(spec.environment.observations[1].array.name == "agent_1/observation/place");
  CHECK(spec.environment.rewards[1].DebugString() == "agent_1/reward: float32[2]");
  CHECK(AgentsOf(spec.environment) == std::vector<std::string>{"agent_0", "agent_1"});
}

TEST_CASE("A server without rewards gives zeros, which a note tells", "[unit]") {
  const RpcSpec spec = ValueOf(ReadSpecs(Specs({Spec("place", dm::FLOAT, {2})}), Options()));
  CHECK(spec.environment.rewards == EnvironmentSpec().rewards);
  CHECK_FALSE(spec.rewards[0].has_value());
  CHECK_THAT(spec.notes[0], Catch::Contains("rewards are 0"));
}

TEST_CASE("Only the wanted observations are requested", "[unit]") {
  RpcSpecOptions options = Options();
  options.observations = {"place"};
  const dm::ActionObservationSpecs specs = Specs({Spec("place", dm::FLOAT, {2}), Spec("text", dm::STRING),
                                                  Spec("any", dm::FLOAT, {-1}), Spec("reward", dm::FLOAT)});
  const RpcSpec spec = ValueOf(ReadSpecs(specs, options));
  CHECK(spec.Requested().size() == 2);
  options.observations = {"plaze"};
  CHECK_THAT(Refusal(specs, options), Catch::Contains("place"));
}

TEST_CASE("An unsupported spec is refused", "[unit]") {
  const dm::TensorSpec unsupported[] = {
      Spec("b", dm::STRING),
      Spec("b", dm::PROTO),
      Spec("b", dm::INVALID_DATA_TYPE),
      Spec("b", static_cast<dm::DataType>(99)),
      Spec("b", dm::FLOAT, {3, -1}),
      Spec("b", dm::FLOAT, {0}),
      Spec("b", dm::FLOAT, {1, 1, 1, 1, 1, 1, 1, 1, 1}),
      Spec("b", dm::FLOAT, {2147483647, 2147483647}),
      Spec("b", dm::FLOAT, {4}, {0, 1}, {2, 3}),
      Spec("b", dm::FLOAT, {}, {std::numeric_limits<double>::quiet_NaN()}, {1}),
      Spec("a", dm::FLOAT),    // It is there twice.
      Spec("a.b", dm::FLOAT),  // It lies below another.
      Spec("", dm::FLOAT),
      Spec("reward", dm::STRING),
      Spec("reward", dm::FLOAT, {2, 2}),
      Spec("discount", dm::FLOAT, {1}),
  };
  for (const dm::TensorSpec& spec : unsupported) {
    INFO(spec.ShortDebugString());
    Refusal(Specs({Spec("a", dm::FLOAT), spec}));
  }
  Refusal(Specs({Spec("a", dm::FLOAT)}, {}));
  Refusal(Specs({}, {}));
  std::vector<dm::TensorSpec> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back(Spec("o" + std::to_string(i), dm::FLOAT));
  }
  CHECK_THAT(Refusal(Specs(many)), Catch::Contains("at most 256"));
  many.assign(200, Spec("", dm::FLOAT, {1'000'000}));
  for (size_t i = 0; i < many.size(); ++i) {
    many[i].set_name("o" + std::to_string(i));
  }
  CHECK_THAT(Refusal(Specs(many)), Catch::Contains("all observations together"));
  CHECK_THAT(Refusal(Specs({Spec("a", dm::FLOAT)}, many)), Catch::Contains("all actions together"));
}

TEST_CASE("Lanes of a stream are the first dimension of every tensor", "[unit]") {
  const auto batch = [](std::vector<dm::TensorSpec> more) {
    more.push_back(Spec("place", dm::FLOAT, {4, 2}, {0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 1, 2, 1, 2, 1, 2}));
    return Specs(more, {Spec("go", dm::INT64, {4}, {0}, {2})});
  };
  const dm::TensorSpec step_type = Spec("step_type", dm::INT32, {4}, {0}, {2});
  const RpcSpec spec = ValueOf(
      ReadSpecs(batch({step_type, Spec("reward", dm::FLOAT, {4, 3}), Spec("discount", dm::FLOAT, {4})}), Options(4)));
  CHECK(spec.environment.observations[0].DebugString() == "observation/place: float32[2] in [0, 0] to [1, 2]");
  CHECK(spec.environment.actions[0].DebugString() == "action/go: int64[] of 3 choices");
  CHECK(spec.environment.rewards[0].DebugString() == "reward: float32[3]");
  CHECK(spec.step_type.has_value());
  CHECK_THAT(Refusal(batch({}), Options(4)), Catch::Contains("step_type"));
  CHECK_THAT(Refusal(batch({step_type}), Options(5)), Catch::Contains("wanted [5, …]"));
  CHECK_THAT(Refusal(batch({Spec("step_type", dm::FLOAT, {4})}), Options(4)), Catch::Contains("INT32"));
}

TEST_CASE("Specs that differ in their uids alone match", "[unit]") {
  const std::vector<dm::TensorSpec> observations = {Spec("a", dm::INT32, {}, {0}, {3})};
  dm::ActionObservationSpecs renumbered;
  (*renumbered.mutable_observations())[1] = observations[0];
  (*renumbered.mutable_actions())[1] = Spec("jump", dm::BOOL);
  const RpcSpec spec = ValueOf(ReadSpecs(Specs(observations), Options()));
  CHECK(spec.Matches(ValueOf(ReadSpecs(renumbered, Options()))));
  for (const dm::TensorSpec& other : {Spec("a", dm::INT32, {}, {1}, {4}), Spec("a", dm::INT64, {}, {0}, {3}),
                                      Spec("b", dm::INT32, {}, {0}, {3}), Spec("a", dm::INT32, {}, {0}, {4})}) {
    CHECK_FALSE(spec.Matches(ValueOf(ReadSpecs(Specs({other}), Options()))));
  }
}

}  // namespace
}  // namespace waggle
