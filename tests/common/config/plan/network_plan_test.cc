#include "common/config/plan/network_plan.h"

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Conv;
using testing::Embedding;
using testing::Environment;
using testing::Head;
using testing::Layer;
using testing::Mlp;
using testing::NetworkCase;
using testing::ValueOf;
using testing::Vector;

const SpaceLeaf kDiscrete = Discrete("action", 3);
const SpaceLeaf kReal = Box("action", DType::kFloat32, {2}, -1, 1);

NetworkNeed Need(std::map<std::string, HeadNeed> heads) {
  NetworkNeed need;
  need.name = "net";
  need.heads = std::move(heads);
  return need;
}

NetworkNeed Q() {
  return Need({{"q", HeadKind::kQ}});
}

NetworkSpec Torso(std::vector<LayerSpec> torso) {
  NetworkSpec network;
  network.torso = std::move(torso);
  return network;
}

NetworkPlan Plan(const NetworkCase& network) {
  return ValueOf(PlanNetwork(network.need, network.spec, network.environment));
}

std::string Names(const NetworkNeed& need, const NetworkSpec& network, const EnvironmentSpec& environment) {
  return DebugString(ValueOf(PlanNetwork(need, network, environment)).parameters);
}

std::string Refused(const NetworkNeed& need, const NetworkSpec& network, const EnvironmentSpec& environment) {
  const absl::Status status = PlanNetwork(need, network, environment).status();
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

// The key of a refusal.
std::string RefusedKey(const NetworkNeed& need, const NetworkSpec& network, const EnvironmentSpec& environment) {
  const std::string message = Refused(need, network, environment);
  return message.substr(0, message.find(": "));
}

TEST_CASE("a network without keys has two dense layers and a linear head", "[unit]") {
  const NetworkPlan plan = ValueOf(PlanNetwork(Q(), NetworkSpec(), Environment({Vector(4)}, kDiscrete)));
  CHECK(DebugString(plan.parameters) ==
        "[torso.0.linear1.weight: float32[64, 4], torso.0.linear1.bias: float32[64], "
        "torso.0.linear2.weight: float32[64, 64], torso.0.linear2.bias: float32[64], "
        "heads.q.output.weight: float32[3, 64], heads.q.output.bias: float32[3]]");
  CHECK(plan.num_parameters == 4 * 64 + 64 + 64 * 64 + 64 + 64 * 3 + 3);
  CHECK(plan.row_values == 4 + 64 + 64 + 3);
  CHECK(plan.trunks[0].torso[1].activation == Activation::kRelu);
  CHECK(plan.heads[0].layers[0].activation == Activation::kNone);
  CHECK(plan.action.parts[0].mask == -1);
  CHECK(plan.FindHead("q") == &plan.heads[0]);
  CHECK(plan.FindHead("value") == nullptr);
}

TEST_CASE("parameters are complete, and have the names of their places", "[unit]") {
  NetworkSpec network = Torso({Mlp({6}), testing::Residual({5}), Layer("layer_norm")});
  network.encoders = {{"camera", {Conv(3, 3)}}, {"gear", {Embedding(2)}}};
  network.heads["q"] = Head("dueling", {4});
  EnvironmentSpec environment = Environment({Box("observation/camera", DType::kUint8, {1, 4, 4}),
                                             Discrete("observation/gear", 5), MultiBinary("action_mask", {3})},
                                            kDiscrete);
  CHECK(Names(Q(), network, environment) ==
        "[encoders.camera.0.conv.weight: float32[3, 1, 3, 3], encoders.camera.0.conv.bias: float32[3], "
        "encoders.gear.0.embedding.weight: float32[5, 2], "
        "torso.0.linear1.weight: float32[6, 14], torso.0.linear1.bias: float32[6], "
        "torso.1.linear1.weight: float32[5, 6], torso.1.linear1.bias: float32[5], "
        "torso.1.linear2.weight: float32[6, 5], torso.1.linear2.bias: float32[6], "
        "torso.2.norm.weight: float32[6], torso.2.norm.bias: float32[6], "
        "heads.q.value.linear1.weight: float32[4, 6], heads.q.value.linear1.bias: float32[4], "
        "heads.q.value.output.weight: float32[1, 4], heads.q.value.output.bias: float32[1], "
        "heads.q.advantage.linear1.weight: float32[4, 6], heads.q.advantage.linear1.bias: float32[4], "
        "heads.q.advantage.output.weight: float32[3, 4], heads.q.advantage.output.bias: float32[3]]");
  for (const NetworkCase& each : testing::NetworkCases()) {
    INFO(each.name);
    const NetworkPlan plan = Plan(each);
    std::set<std::string> names;
    int64_t elements = 0;
    for (const ArraySpec& parameter : plan.parameters) {
      CHECK(names.insert(parameter.name).second);
      elements += parameter.NumElements();
      CHECK((!each.need.members.has_value() || parameter.shape[0] == *each.need.members));
    }
    CHECK(plan.num_parameters == elements);
    CHECK(plan.members == each.need.members);
  }
}

TEST_CASE("the deviations of a policy are parameters, or outputs within bounds", "[unit]") {
  const EnvironmentSpec real = Environment({Vector(4)}, kReal);
  NetworkSpec network = Torso({Mlp({6})});
  network.heads["policy"].initial_std = 0.5;
  const NetworkPlan free = ValueOf(PlanNetwork(Need({{"policy", HeadKind::kNormal}}), network, real));
  CHECK(free.heads[0].outputs == 2);
  CHECK(free.parameters[static_cast<size_t>(free.heads[0].free_log_std)].DebugString() ==
        "heads.policy.log_std: float32[2]");
  REQUIRE(free.initial_log_std.size() == 1);
  CHECK(free.initial_log_std[0].first == free.heads[0].free_log_std);
  CHECK(free.initial_log_std[0].second == Approx(std::log(0.5)));
  network.heads["policy"] = HeadSpec();
  network.heads["policy"].std = "of_state";
  const NetworkPlan of_state = ValueOf(PlanNetwork(Need({{"policy", HeadKind::kNormal}}), network, real));
  CHECK(of_state.heads[0].outputs == 4);
  CHECK(of_state.heads[0].free_log_std == -1);
  CHECK(of_state.initial_log_std.empty());
  network.heads["policy"] = HeadSpec();
  network.heads["policy"].min_log_std = -5;
  const NetworkPlan tanh = ValueOf(PlanNetwork(Need({{"policy", HeadKind::kTanhNormal}}), network, real));
  CHECK(tanh.heads[0].outputs == 4);
  CHECK(tanh.heads[0].min_log_std == -5);
  CHECK(tanh.heads[0].max_log_std == 2);
}

TEST_CASE("inputs are the observation's leaves in their order, without the mask, and then the action", "[unit]") {
  NetworkNeed need = Need({{"q", HeadKind::kValue}});
  need.takes_action = true;
  NetworkSpec network = Torso({Mlp({2})});
  network.encoders["action"] = {Layer("one_hot"), Mlp({5})};
  const NetworkPlan plan =
      ValueOf(PlanNetwork(need, network,
                          Environment({Box("observation/z", DType::kFloat32, {}), MultiBinary("action_mask", {3}),
                                       MultiDiscrete("observation/a", {2, 2})},
                                      kDiscrete)));
  REQUIRE(plan.trunks[0].encoders.size() == 3);
  CHECK(plan.trunks[0].encoders[0].name == "z");
  CHECK(plan.trunks[0].encoders[0].leaf == 0);
  CHECK(plan.trunks[0].encoders[1].name == "a");
  CHECK(plan.trunks[0].encoders[1].leaf == 2);
  CHECK(plan.trunks[0].encoders[1].layers[0].kind == LayerPlan::Kind::kOneHot);
  CHECK(plan.trunks[0].encoders[2].name == "action");
  CHECK(plan.trunks[0].encoders[2].leaf == -1);
  CHECK(plan.action.parts[0].mask == 1);
  CHECK(plan.Sees(1));
  CHECK(DebugString(plan.parameters).find("torso.0.linear1.weight: float32[2, 10]") != std::string::npos);
}

TEST_CASE("encoders of several agents have their agents' names", "[unit]") {
  NetworkSpec network = Torso({});
  network.encoders["blue/camera"] = {Layer("flatten")};
  const NetworkPlan plan = ValueOf(PlanNetwork(Need({{"value", HeadKind::kValue}}), network, [] {
    EnvironmentSpec environment = Environment(
        {Box("blue/observation/camera", DType::kUint8, {2, 2}), Box("blue/observation/speed", DType::kFloat32, {})},
        Discrete("blue/action", 2));
    environment.rewards = {ArraySpec{"blue/reward", DType::kFloat32, {}}};
    return environment;
  }()));
  CHECK(plan.trunks[0].encoders[0].name == "blue/camera");
  CHECK(plan.trunks[0].encoders[1].name == "blue/speed");
}

TEST_CASE("a head that shares nothing has encoders and a torso of its own", "[unit]") {
  const NetworkNeed need = Need({{"policy", HeadKind::kCategorical}, {"value", HeadKind::kValue}});
  NetworkSpec network = Torso({Mlp({6})});
  network.heads["value"].shares = "nothing";
  const EnvironmentSpec environment = Environment({Vector(4)}, kDiscrete);
  const NetworkPlan plan = ValueOf(PlanNetwork(need, network, environment));
  CHECK(plan.trunks.size() == 2);
  CHECK(plan.FindHead("policy")->trunk == 0);
  CHECK(plan.FindHead("value")->trunk == 1);
  CHECK(DebugString(plan.parameters) ==
        "[torso.0.linear1.weight: float32[6, 4], torso.0.linear1.bias: float32[6], "
        "heads.policy.output.weight: float32[3, 6], heads.policy.output.bias: float32[3], "
        "heads.value.torso.0.linear1.weight: float32[6, 4], heads.value.torso.0.linear1.bias: float32[6], "
        "heads.value.output.weight: float32[1, 6], heads.value.output.bias: float32[1]]");
  // If no head shares, there is no shared trunk.
  network.heads["policy"].shares = "nothing";
  const NetworkPlan apart = ValueOf(PlanNetwork(need, network, environment));
  CHECK(apart.trunks.size() == 2);
  CHECK(apart.FindHead("policy")->trunk == 0);
  CHECK(apart.num_parameters == plan.num_parameters);
}

TEST_CASE("a core has the parameters of torch.nn, between the torso and the heads", "[unit]") {
  NetworkSpec network = Torso({Mlp({6})});
  network.core.type = "lstm";
  network.core.units = 5;
  const EnvironmentSpec environment = Environment({Vector(4)}, kDiscrete);
  const NetworkPlan lstm = ValueOf(PlanNetwork(Q(), network, environment));
  CHECK(DebugString(lstm.parameters) ==
        "[torso.0.linear1.weight: float32[6, 4], torso.0.linear1.bias: float32[6], "
        "core.weight_ih_l0: float32[20, 6], core.weight_hh_l0: float32[20, 5], "
        "core.bias_ih_l0: float32[20], core.bias_hh_l0: float32[20], "
        "heads.q.output.weight: float32[3, 5], heads.q.output.bias: float32[3]]");
  CHECK(lstm.state_size == 10);
  CHECK(lstm.row_values == 4 + 6 + 20 + 10 + 3);
  CHECK(CoreStateColumn(lstm).DebugString() == "core_state: float32[10]");
  network.core.type = "gru";
  const NetworkPlan gru = ValueOf(PlanNetwork(Q(), network, environment));
  CHECK_THAT(DebugString(gru.parameters), Catch::Contains("core.weight_ih_l0: float32[15, 6], core.weight_hh_l0: "
                                                          "float32[15, 5], core.bias_ih_l0: float32[15]"));
  CHECK(gru.state_size == 5);
  CHECK(ValueOf(PlanNetwork(Q(), Torso({}), environment)).state_size == 0);
}

TEST_CASE("a head that shares nothing has a core of its own", "[unit]") {
  NetworkSpec network = Torso({});
  network.core.type = "lstm";
  network.core.units = 5;
  network.heads["value"].shares = "nothing";
  const NetworkPlan plan = ValueOf(PlanNetwork(Need({{"policy", HeadKind::kCategorical}, {"value", HeadKind::kValue}}),
                                               network, Environment({Vector(4)}, kDiscrete)));
  REQUIRE(plan.trunks.size() == 2);
  CHECK(plan.trunks[0].cores[0].state == 0);
  CHECK(plan.trunks[1].cores[0].state == 10);
  CHECK(plan.state_size == 20);
  CHECK(plan.parameters[static_cast<size_t>(plan.trunks[1].cores[0].weight)].name == "heads.value.core.weight_ih_l0");
}

TEST_CASE("a core is refused after a raw image, and each member has its own", "[unit]") {
  NetworkSpec network = Torso({});
  network.core.type = "gru";
  const EnvironmentSpec image = Environment({Box("observation", DType::kUint8, {1, 4, 4})}, kDiscrete);
  CHECK(RefusedKey(Q(), network, image) == "networks.net.core");
  network.torso = {Conv(2, 2)};
  CHECK_THAT(Names(Q(), network, image), Catch::Contains("core.weight_ih_l0: float32[192, 18]"));
  NetworkNeed need = Q();
  need.members = 2;
  const NetworkPlan plan = ValueOf(PlanNetwork(need, network, image));
  REQUIRE(plan.trunks[0].cores.size() == 2);
  CHECK(plan.trunks[0].cores[1].state == 64);
  CHECK(plan.state_size == 128);
  CHECK_THAT(Names(need, network, image), Catch::Contains("core.member1.weight_ih_l0: float32[192, 18]"));
}

TEST_CASE("the hash depends on a network's computation, not on its initialisation", "[unit]") {
  const auto hash = [](const NetworkCase& network) { return Plan(network).hash; };
  std::set<uint64_t> hashes;
  size_t equal = 0;
  for (const NetworkCase& network : testing::NetworkCases()) {
    if (network.name.find("orthogonal") == 0 || network.name.find("xavier") == 0 || network.name.find("kaiming") == 0) {
      ++equal;
    }
    hashes.insert(hash(network));
  }
  CHECK(equal == 9);
  // The three initialisations are one, with each number of members, and that of "mlp relu" has a hidden layer more.
  CHECK(hashes.size() == testing::NetworkCases().size() - 6);

  const NetworkCase base{"", Q(), Torso({Mlp({4})}), Environment({Vector(3)}, kDiscrete)};
  NetworkCase other = base;
  other.need.name = "critic";  // Nor on its name and its purpose.
  other.need.has_target = true;
  other.need.acts = true;
  other.spec.torso[0].initialization = "orthogonal";
  other.spec.torso[0].gain = 3;
  other.spec.heads["q"].initialization = "zeros";
  other.environment.name = "Other-v3";
  CHECK(hash(other) == hash(base));
  other = base;
  other.spec.torso[0].activation = "tanh";
  CHECK(hash(other) != hash(base));
  other = base;
  other.environment.observations[0].array.dtype = DType::kFloat64;
  CHECK(hash(other) != hash(base));
  other = base;
  other.environment.actions[0] = Discrete("action", 4);
  CHECK(hash(other) != hash(base));

  std::set<uint64_t> cores = {hash(base)};
  for (const char* type : {"lstm", "gru"}) {
    other = base;
    other.spec.core.type = type;
    CHECK(cores.insert(hash(other)).second);
    other.spec.core.units = 4;
    CHECK(cores.insert(hash(other)).second);
  }

  const auto image = [&](LayerSpec conv) {
    return hash(
        {"", Q(), Torso({std::move(conv)}), Environment({Box("observation", DType::kUint8, {1, 3, 3})}, kDiscrete)});
  };
  CHECK(image(Conv(4, 3)) != image(Conv(4, 3, 2, 1)));  // Their parameters have the same shapes.
  NetworkCase sum{"", Q(), Torso({}), Environment({Vector(3)}, kDiscrete)};
  sum.environment.observations = {Box("observation/a", DType::kFloat32, {3}),
                                  Box("observation/b", DType::kFloat32, {3})};
  NetworkCase swapped = sum;
  std::swap(swapped.environment.observations[0], swapped.environment.observations[1]);
  CHECK(hash(sum) != hash(swapped));
  // A norm's two parameters in place of a dense layer's: equal shapes.
  NetworkCase normal{"", Need({{"policy", HeadKind::kTanhNormal}}), Torso({}), Environment({Vector(3)}, kReal)};
  NetworkCase narrow = normal;
  narrow.spec.heads["policy"].max_log_std = 1;
  CHECK(hash(normal) != hash(narrow));
}

TEST_CASE("unknown heads and inputs are refused, with the nearest name", "[unit]") {
  const EnvironmentSpec environment = Environment(
      {Box("observation/camera", DType::kUint8, {1, 4, 4}), Box("observation/vector", DType::kFloat32, {3})},
      kDiscrete);
  NetworkSpec network;
  network.encoders["camra"] = {Conv(2, 3)};
  network.heads["Q"] = HeadSpec();
  CHECK(
      Refused(Q(), network, environment) ==
      "networks.net.encoders.camra: there is no such input or output of the network; did you mean \"camera\"?; known: "
      "camera, vector\n"
      "networks.net.heads.Q: there is no such input or output of the network; did you mean \"q\"?; known: q");
  network = NetworkSpec();
  network.encoders["action"] = {Mlp({3})};
  CHECK(RefusedKey(Q(), network, environment) == "networks.net.encoders.action");
  NetworkNeed critic = Need({{"q", HeadKind::kValue}});
  critic.takes_action = true;
  CHECK(RefusedKey(critic, NetworkSpec(), Environment({Box("observation/action", DType::kFloat32, {3})}, kReal)) ==
        "networks.net.encoders.action");
}

TEST_CASE("a network that takes no observation has the action and the algorithm's own inputs alone", "[unit]") {
  NetworkNeed need = Need({{"q", HeadKind::kValue}});
  need.takes_observation = false;
  need.takes_action = true;
  need.extra = {{"features", 3}};
  const EnvironmentSpec environment = Environment({Vector(4)}, kReal);
  const NetworkPlan plan = ValueOf(PlanNetwork(need, NetworkSpec(), environment));
  REQUIRE(plan.trunks[0].encoders.size() == 2);
  CHECK(plan.trunks[0].encoders[0].name == "action");
  CHECK(plan.trunks[0].encoders[1].name == "features");
  CHECK_FALSE(plan.Sees(0));
  NetworkSpec network;
  network.encoders["observation"] = {Mlp({3})};
  CHECK(RefusedKey(need, network, environment) == "networks.net.encoders.observation");
  network = NetworkSpec();
  network.normalize_observations = true;
  CHECK(RefusedKey(need, network, environment) == "networks.net.normalize_observations");
}

TEST_CASE("several actions are one to a network's heads, and to its input", "[unit]") {
  EnvironmentSpec environment = Environment({Vector(4), MultiBinary("action_mask/right", {3})}, kDiscrete);
  environment.actions = {Discrete("action/left", 2), Discrete("action/right", 3)};
  const NetworkSpec network = Torso({Mlp({6})});
  const NetworkPlan choices = ValueOf(PlanNetwork(Need({{"policy", HeadKind::kCategorical}}), network, environment));
  CHECK(choices.heads[0].outputs == 5);
  CHECK(choices.action.num_values == std::vector<int64_t>{2, 3});
  CHECK(choices.Sees(1));
  // Beside the outputs: two elements, as wide as the wider.
  CHECK(choices.row_values == 4 + 6 + 5 + 2 * 3);
  CHECK(RefusedKey(Q(), network, environment) == "networks.net.heads.q");
  NetworkNeed critic = Need({{"q", HeadKind::kValue}});
  critic.takes_action = true;
  CHECK(Names(critic, network, environment) ==
        "[torso.0.linear1.weight: float32[6, 9], torso.0.linear1.bias: float32[6], "
        "heads.q.output.weight: float32[1, 6], heads.q.output.bias: float32[1]]");

  environment.actions = {Box("action/a", DType::kFloat32, {}), Box("action/b", DType::kFloat32, {2, 2})};
  environment.observations.pop_back();
  CHECK(Names(critic, network, environment) ==
        "[torso.0.linear1.weight: float32[6, 9], torso.0.linear1.bias: float32[6], "
        "heads.q.output.weight: float32[1, 6], heads.q.output.bias: float32[1]]");
  CHECK(ValueOf(PlanNetwork(Need({{"policy", HeadKind::kNormal}}), network, environment)).heads[0].outputs == 5);

  environment.actions = {Box("action/a", DType::kFloat32, {2}), Discrete("action/b", 3)};
  const NetworkPlan mixed = ValueOf(PlanNetwork(Need({{"policy", HeadKind::kMixed}}), network, environment));
  CHECK(mixed.heads[0].outputs == 5);
  CHECK(mixed.parameters[static_cast<size_t>(mixed.heads[0].free_log_std)].DebugString() ==
        "heads.policy.log_std: float32[2]");
  CHECK(RefusedKey(critic, network, environment) == "networks.net");
  environment.actions = {MultiBinary("action", {kMaxChoosing + 1})};
  CHECK(RefusedKey(Need({{"policy", HeadKind::kCategorical}}), network, environment) == "environment Toy-v0");
}

TEST_CASE("the hash depends on the order of several actions, and on their masks", "[unit]") {
  const auto hash = [](std::vector<SpaceLeaf> actions, std::vector<SpaceLeaf> masks = {}) {
    EnvironmentSpec environment = Environment({Vector(4)}, kDiscrete);
    environment.observations.insert(environment.observations.end(), masks.begin(), masks.end());
    environment.actions = std::move(actions);
    return ValueOf(PlanNetwork(Need({{"policy", HeadKind::kCategorical}}), Torso({}), environment)).hash;
  };
  const std::set<uint64_t> hashes = {
      hash({Discrete("action/a", 3), Discrete("action/b", 3)}),
      hash({Discrete("action/b", 3), Discrete("action/a", 3)}), hash({MultiDiscrete("action", {3, 3})}),
      hash({Discrete("action/a", 3), Discrete("action/b", 3)}, {MultiBinary("action_mask/a", {3})}),
      hash({Discrete("action/a", 3), Discrete("action/b", 3)}, {MultiBinary("action_mask/b", {3})})};
  CHECK(hashes.size() == 5);
}

TEST_CASE("a raw image is refused, never flattened", "[unit]") {
  const SpaceLeaf image = Box("observation/camera", DType::kUint8, {1, 4, 4});
  const SpaceLeaf vector = Box("observation/vector", DType::kFloat32, {3});
  CHECK(RefusedKey(Q(), NetworkSpec(), Environment({image, vector}, kDiscrete)) == "networks.net.encoders.camera");
  NetworkSpec network;
  network.encoders["camera"] = {Layer("layer_norm")};
  CHECK(RefusedKey(Q(), network, Environment({vector, image}, kDiscrete)) == "networks.net.encoders.camera");
  network.encoders["camera"] = {Mlp({3})};
  CHECK(RefusedKey(Q(), network, Environment({image, vector}, kDiscrete)) == "networks.net.encoders.camera[0]");
  CHECK(RefusedKey(Q(), Torso({Mlp({3})}), Environment({image}, kDiscrete)) == "networks.net.torso[0]");
  CHECK(RefusedKey(Q(), Torso({}), Environment({image}, kDiscrete)) == "networks.net.heads.q");
  CHECK(RefusedKey(Q(), Torso({Layer("layer_norm")}), Environment({image}, kDiscrete)) == "networks.net.heads.q");
  network.encoders["camera"] = {Layer("flatten")};
  REQUIRE_OK(PlanNetwork(Q(), network, Environment({image, vector}, kDiscrete)));
  REQUIRE_OK(PlanNetwork(Q(), Torso({Conv(2, 2)}), Environment({image}, kDiscrete)));
}

TEST_CASE("a head's type and keys are its kind's, and its kind is for the action", "[unit]") {
  NetworkSpec network;
  network.heads["q"] = Head("duel");
  network.heads["q"].std = "of_state";
  const EnvironmentSpec discrete = Environment({Vector(3)}, kDiscrete);
  const std::string both = Refused(Q(), network, discrete);
  CHECK_THAT(both, Catch::StartsWith("networks.net.heads.q.type: ") && Catch::Contains("\nnetworks.net.heads.q.std: "));
  CHECK_THAT(Refused(Q(), NetworkSpec(), Environment({Vector(3)}, kReal)),
             Catch::StartsWith("networks.net.heads.q: a q head does not fit a box action"));
}

TEST_CASE("a sum of unequal widths is refused with both", "[unit]") {
  NetworkSpec network;
  network.join = "sum";
  network.encoders["b"] = {Mlp({5})};
  const EnvironmentSpec environment =
      Environment({Box("observation/a", DType::kFloat32, {4}), Box("observation/b", DType::kFloat32, {3})}, kDiscrete);
  CHECK(RefusedKey(Q(), network, environment) == "networks.net.join");
  network.encoders["b"] = {Mlp({4})};
  const NetworkPlan plan = ValueOf(PlanNetwork(Q(), network, environment));
  CHECK(plan.trunks[0].sum);
  CHECK(DebugString(plan.parameters).find("torso.0.linear1.weight: float32[64, 4]") != std::string::npos);
}

TEST_CASE("a network does not see a leaf whose encoder ignores it", "[unit]") {
  const SpaceLeaf camera = Box("observation/camera", DType::kUint8, {3, 84, 84});
  const SpaceLeaf speed = Box("observation/speed", DType::kFloat32, {2});
  NetworkSpec network;
  network.encoders["camera"] = {Layer("ignore")};
  network.normalize_observations = true;
  const NetworkPlan plan = ValueOf(PlanNetwork(Q(), network, Environment({camera, speed}, kDiscrete)));
  REQUIRE(plan.trunks[0].encoders.size() == 1);
  CHECK(plan.trunks[0].encoders[0].leaf == 1);
  CHECK_FALSE(plan.Sees(0));
  CHECK(plan.Sees(1));
  CHECK(DebugString(plan.parameters).find("torso.0.linear1.weight: float32[64, 2]") != std::string::npos);
  network.encoders["speed"] = {Layer("ignore")};
  CHECK(RefusedKey(Q(), network, Environment({camera, speed}, kDiscrete)) == "networks.net.encoders");
  network.encoders["speed"] = {Mlp({8}), Layer("ignore")};
  CHECK(RefusedKey(Q(), network, Environment({camera, speed}, kDiscrete)) == "networks.net.encoders.speed[1]");
}

TEST_CASE("a network does not see a leaf that its algorithm hides, which has no encoder", "[unit]") {
  NetworkNeed need = Q();
  need.hidden = {"observation/skill"};
  const EnvironmentSpec environment =
      Environment({Box("observation/place", DType::kFloat32, {4}), Discrete("observation/skill", 3)}, kDiscrete);
  const NetworkPlan plan = ValueOf(PlanNetwork(need, NetworkSpec(), environment));
  REQUIRE(plan.trunks[0].encoders.size() == 1);
  CHECK(plan.Sees(0));
  CHECK_FALSE(plan.Sees(1));
  NetworkSpec network;
  network.encoders["skill"] = {Layer("ignore")};
  CHECK(RefusedKey(need, network, environment) == "networks.net.encoders.skill");
}

TEST_CASE("a window of means that would fill the memory is refused", "[unit]") {
  NetworkSpec network;
  network.normalize_observations = true;
  network.normalizer.average = "window";
  network.normalizer.window = 65'536;
  CHECK(ValueOf(PlanNetwork(Q(), network, Environment({Vector(16)}, kDiscrete))).normalizers.size() == 1);
  CHECK(RefusedKey(Q(), network, Environment({Vector(17)}, kDiscrete)) == "networks.net.normalizer.window");
}

TEST_CASE("running statistics come after all that descent changes, and are refused if no update moves them", "[unit]") {
  NetworkNeed need = Need({{"policy", HeadKind::kTanhNormal}, {"value", HeadKind::kValue}});
  NetworkSpec network = Torso({Layer("batch_norm"), Mlp({8})});
  network.normalize_observations = true;
  const EnvironmentSpec environment = Environment({Vector(3)}, kReal);
  CHECK(RefusedKey(need, network, environment) == "networks.net");
  need.learns_by_batch = true;
  const NetworkPlan plan = ValueOf(PlanNetwork(need, network, environment));
  CHECK(plan.HasBatchNorm());
  CHECK(plan.num_learned == 3 + 3 + 8 * 3 + 8 + 4 * 8 + 4 + 8 + 1);
  CHECK(plan.num_parameters == plan.num_learned + 3 + 3 + 1 + 3 + 3);
  const LayerPlan& norm = plan.trunks[0].torso[0];
  CHECK(plan.parameters[static_cast<size_t>(norm.weight)].name == "torso.0.norm.weight");
  CHECK(plan.parameters[static_cast<size_t>(norm.statistics)].name == "torso.0.norm.mean");
  CHECK(plan.parameters[static_cast<size_t>(plan.normalizers[0].mean)].name == "normalizers.observation.mean");
  CHECK_FALSE(ValueOf(PlanNetwork(need, Torso({Layer("layer_norm")}), environment)).HasBatchNorm());
}

TEST_CASE("a layer that does not fit is refused with its key", "[unit]") {
  CHECK(RefusedKey(Q(), Torso({Mlp({8}), Conv(32, 3)}), Environment({Vector(4)}, kDiscrete)) ==
        "networks.net.torso[1]");
  // A file could not have these values.
  const NetworkSpec network = Torso({Mlp({0}), Layer("lstm")});
  CHECK_THAT(Refused(Q(), network, Environment({Vector(4)}, kDiscrete)),
             Catch::StartsWith("networks.net.torso[0].units[0]: got ") &&
                 Catch::Contains("\nnetworks.net.torso[1].type: got \"lstm\""));
}

TEST_CASE("networks too large for any memory are refused without overflow", "[unit]") {
  const EnvironmentSpec environment = Environment({Vector(4)}, kDiscrete);
  // 2 ^ 32 parameters a layer, except the first.
  REQUIRE(ValueOf(PlanNetwork(Q(), Torso({Mlp(std::vector<int64_t>(64, 65'536))}), environment)).num_parameters >
          63 * (int64_t{1} << 32));
  CHECK(RefusedKey(Q(), Torso({Mlp(std::vector<int64_t>(65, 65'536))}), environment) == "networks.net");
  const SpaceLeaf wide = Box("observation/a", DType::kUint8, {int64_t{1} << 39});
  SpaceLeaf other = wide;
  other.array.name = "observation/b";
  CHECK(RefusedKey(Q(), NetworkSpec(), Environment({wide, other}, kDiscrete)) == "networks.net.join");
}

}  // namespace
}  // namespace waggle
