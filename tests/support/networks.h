#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/plan/network_plan.h"

namespace waggle::testing {

// A network, an algorithm's needs of it, and its environment.
struct NetworkCase {
  std::string name;
  NetworkNeed need;
  NetworkSpec spec;
  EnvironmentSpec environment;
};

inline LayerSpec Layer(const std::string& type, const std::string& activation = "") {
  LayerSpec layer;
  layer.type = type;
  layer.activation = activation;
  return layer;
}

inline LayerSpec Mlp(std::vector<int64_t> units, const std::string& activation = "relu") {
  LayerSpec layer = Layer("mlp", activation);
  layer.units = std::move(units);
  return layer;
}

inline LayerSpec NoisyMlp(std::vector<int64_t> units, const std::string& activation = "relu") {
  LayerSpec layer = Mlp(std::move(units), activation);
  layer.noise = 0.5;
  return layer;
}

inline LayerSpec Residual(std::vector<int64_t> units, const std::string& activation = "relu") {
  LayerSpec layer = Layer("residual", activation);
  layer.units = std::move(units);
  return layer;
}

inline LayerSpec Conv(int64_t channels, int64_t kernel, int64_t stride = 1, int64_t padding = 0,
                      const std::string& activation = "relu") {
  LayerSpec layer = Layer("conv", activation);
  layer.channels = channels;
  layer.kernel = kernel;
  layer.stride = stride;
  layer.padding = padding;
  return layer;
}

inline LayerSpec Embedding(int64_t dimensions) {
  LayerSpec layer = Layer("embedding");
  layer.dimensions = dimensions;
  return layer;
}

inline HeadSpec Head(const std::string& type, std::vector<int64_t> units = {}, const std::string& activation = "relu") {
  HeadSpec head;
  head.type = type;
  head.units = std::move(units);
  head.activation = activation;
  return head;
}

inline EnvironmentSpec Environment(std::vector<SpaceLeaf> observations, SpaceLeaf action) {
  EnvironmentSpec environment;
  environment.name = "Toy-v0";
  environment.observations = std::move(observations);
  environment.actions = {std::move(action)};
  return environment;
}

inline SpaceLeaf Vector(int64_t width) {
  return Box("observation", DType::kFloat32, {width});
}

// One leaf of every kind: an image of bytes, a vector, a number, choices, yes or no, and a mask of the action's
// choices.
inline std::vector<SpaceLeaf> EveryLeaf(int64_t choices) {
  return {Box("observation/camera", DType::kUint8, {2, 6, 5}),
          Box("observation/vector", DType::kFloat32, {3}),
          Box("observation/speed", DType::kFloat32, {}),
          Discrete("observation/gear", 3),
          MultiDiscrete("observation/cards", {2, 4}),
          MultiBinary("observation/lamps", {2}),
          Discrete("observation/room", 5),
          MultiDiscrete("observation/dice", {3, 3}),
          MultiBinary("action_mask", {choices})};
}

// Small networks that between them have every layer, head, activation, initialisation, join, kind of input and action.
inline std::vector<NetworkCase> NetworksWithoutMembers() {
  const SpaceLeaf discrete = Discrete("action", 3);
  const SpaceLeaf several = MultiDiscrete("action", {2, 3});
  const SpaceLeaf real = Box("action", DType::kFloat32, {2}, -1, 1);
  const SpaceLeaf image = Box("observation", DType::kFloat32, {2, 6, 5});
  const auto need = [](std::map<std::string, HeadNeed> heads, bool takes_action = false) {
    NetworkNeed result;
    result.name = "net";
    result.heads = std::move(heads);
    result.takes_action = takes_action;
    return result;
  };
  const auto spec = [](std::vector<LayerSpec> torso, std::map<std::string, HeadSpec> heads = {}) {
    NetworkSpec result;
    result.torso = std::move(torso);
    result.heads = std::move(heads);
    return result;
  };
  const NetworkNeed q = need({{"q", HeadKind::kQ}});
  const NetworkNeed actor_critic = need({{"policy", HeadKind::kCategorical}, {"value", HeadKind::kValue}});

  std::vector<NetworkCase> cases;
  for (const char* activation : {"relu", "tanh", "elu", "gelu", "silu", "leaky_relu", "sigmoid", "none"}) {
    cases.push_back({std::string("mlp ") + activation, q,
                     spec({Mlp({4, 3}, activation)}, {{"q", Head("q", {4}, activation)}}),
                     Environment({Vector(3)}, discrete)});
    cases.push_back({std::string("conv ") + activation, q,
                     spec({Conv(3, 3, 2, 1, activation), Conv(2, 2, 1, 0, activation), Mlp({4}, activation)}),
                     Environment({image}, discrete)});
  }
  for (const char* initialization : {"orthogonal", "xavier_uniform", "kaiming_normal"}) {
    NetworkCase network{initialization, q, spec({Mlp({4, 3})}, {{"q", Head("")}}), Environment({Vector(3)}, discrete)};
    network.spec.torso[0].initialization = initialization;
    network.spec.torso[0].gain = 0.7;
    network.spec.heads["q"].initialization = initialization;
    cases.push_back(network);
  }
  cases.push_back({"dueling", q, spec({Mlp({4})}, {{"q", Head("dueling")}}), Environment({Vector(3)}, discrete)});
  cases.push_back({"dueling with hidden layers after a conv", q,
                   spec({Conv(2, 3, 2)}, {{"q", Head("dueling", {4}, "tanh")}}), Environment({image}, discrete)});
  cases.push_back(
      {"a dueling head alone", q, spec({}, {{"q", Head("dueling", {3})}}), Environment({Vector(3)}, discrete)});
  cases.push_back(
      {"a head alone on a number", q, spec({}), Environment({Box("observation", DType::kFloat64, {})}, discrete)});
  cases.push_back({"bytes", q, spec({Layer("flatten"), Mlp({3})}),
                   Environment({Box("observation", DType::kUint8, {1, 2, 2})}, discrete)});
  cases.push_back({"a head after a conv", q, spec({Conv(2, 3, 2)}), Environment({image}, discrete)});
  cases.push_back({"norms and residuals", q,
                   spec({Layer("layer_norm"), Residual({4}, "tanh"), Layer("layer_norm", "silu"), Mlp({4}),
                         Residual({3, 5}, "elu"), Mlp({3}, "tanh")}),
                   Environment({Vector(3)}, discrete)});
  cases.push_back({"a norm of an image", q,
                   spec({Layer("layer_norm", "elu"), Conv(2, 3, 2), Layer("layer_norm", "tanh"), Conv(2, 2)}),
                   Environment({image}, discrete)});

  NetworkCase encoded{"an encoder before a torso", q, spec({Mlp({4})}), Environment({image}, discrete)};
  encoded.spec.encoders["observation"] = {Conv(2, 3, 2)};
  cases.push_back(encoded);

  NetworkCase every{"every leaf", actor_critic, spec({Mlp({4})}), Environment(EveryLeaf(5), several)};
  every.spec.encoders = {{"camera", {Conv(2, 3, 2), Mlp({3}, "tanh")}},
                         {"vector", {}},
                         {"gear", {Embedding(2)}},
                         {"cards", {Embedding(2), Mlp({3})}},
                         {"room", {Layer("one_hot"), Mlp({2})}},
                         {"dice", {Layer("one_hot")}}};
  cases.push_back(every);
  NetworkCase sum{"every leaf, in a sum", q, spec({Mlp({4}, "tanh")}), Environment(EveryLeaf(3), discrete)};
  sum.spec.join = "sum";
  for (const SpaceLeaf& leaf : sum.environment.observations) {
    if (leaf.array.name != "action_mask") {
      const std::string name = leaf.array.name.substr(std::string("observation/").size());
      std::vector<LayerSpec>& layers = sum.spec.encoders[name];
      if (name == "camera") {
        layers = {Layer("flatten")};
      } else if (!leaf.num_values.empty()) {
        layers = {name == "cards" ? Embedding(2) : Layer("one_hot")};
      }
      layers.push_back(Mlp({4}, "none"));
    }
  }
  cases.push_back(sum);

  cases.push_back(
      {"a policy and a value that share", actor_critic, spec({Mlp({4}, "tanh")}), Environment({Vector(3)}, discrete)});
  NetworkCase apart{"a value that shares nothing", actor_critic, spec({Mlp({4}, "tanh")}),
                    Environment({Vector(3), Discrete("observation2", 2)}, several)};
  apart.environment.observations[0].array.name = "observation/vector";
  apart.environment.observations[1].array.name = "observation/gear";
  apart.spec.encoders["gear"] = {Embedding(2)};
  apart.spec.heads["value"].shares = "nothing";
  cases.push_back(apart);
  apart.name = "two heads that share nothing";
  apart.spec.heads["policy"].shares = "nothing";
  cases.push_back(apart);

  NetworkCase normal{"a normal head", need({{"policy", HeadKind::kNormal}, {"value", HeadKind::kValue}}),
                     spec({Mlp({4}, "tanh")}), Environment({Vector(3)}, real)};
  normal.spec.heads["policy"].initial_std = 0.5;
  normal.spec.heads["policy"].gain = 0.01;
  normal.spec.heads["policy"].initialization = "orthogonal";
  cases.push_back(normal);
  normal.name = "a normal head whose deviations are of the state";
  normal.spec.heads["policy"] = Head("normal", {3}, "elu");
  normal.spec.heads["policy"].std = "of_state";
  cases.push_back(normal);
  cases.push_back({"a tanh-normal head", need({{"policy", HeadKind::kTanhNormal}}),
                   spec({Mlp({4})}, {{"policy", Head("tanh_normal", {3})}}), Environment({Vector(3)}, real)});
  cases.push_back({"a deterministic head", need({{"action", HeadKind::kDeterministic}}), spec({Mlp({4})}),
                   Environment({Vector(3)}, real)});

  NetworkCase mixed{"a head of choices and real numbers", need({{"policy", HeadKind::kMixed}}),
                    spec({Mlp({4}, "tanh")}), Environment({Vector(3)}, discrete)};
  mixed.spec.heads["policy"].initial_std = 0.5;
  mixed.environment.actions = {Box("action/a", DType::kFloat32, {2}), Discrete("action/b", 3),
                               MultiBinary("action/c", {2})};
  cases.push_back(mixed);
  mixed.name = "a head of choices and real numbers whose deviations are of the state";
  mixed.spec.heads["policy"] = HeadSpec();
  mixed.spec.heads["policy"].std = "of_state";
  cases.push_back(mixed);

  cases.push_back({"a head of atoms", need({{"q", HeadNeed(HeadKind::kCategoricalQ, 4, -2, 7)}}), spec({Mlp({4})}),
                   Environment({Vector(3)}, discrete)});
  cases.push_back({"a dueling head of atoms", need({{"q", HeadNeed(HeadKind::kCategoricalQ, 4, -2, 7)}}),
                   spec({Mlp({4})}, {{"q", Head("dueling", {3}, "tanh")}}), Environment({Vector(3)}, discrete)});
  cases.push_back({"a dueling head of quantiles", need({{"q", HeadNeed(HeadKind::kQuantileQ, 2)}}),
                   spec({Mlp({4})}, {{"q", Head("dueling")}}), Environment({Vector(3)}, discrete)});
  cases.push_back({"quantiles of a value, and numbers",
                   need({{"value", HeadNeed(HeadKind::kQuantiles, 5)}, {"numbers", HeadNeed(HeadKind::kVector, 2)}},
                        /*takes_action=*/true),
                   spec({Mlp({4}, "tanh")}), Environment({Vector(3)}, real)});
  cases.push_back(
      {"noisy layers", q, spec({Conv(2, 3, 2), NoisyMlp({4, 3}, "tanh"), Mlp({4})}), Environment({image}, discrete)});
  NetworkCase noisy{"a noisy dueling head", q, spec({NoisyMlp({4}, "silu")}, {{"q", Head("dueling", {3}, "tanh")}}),
                    Environment({Vector(3)}, discrete)};
  noisy.spec.heads["q"].noise = 0.3;
  cases.push_back(noisy);
  NetworkCase extra{"an algorithm's own inputs", q, spec({Mlp({3}, "tanh")}), Environment({Vector(3)}, discrete)};
  extra.need.extra = {{"fractions", 5, true}, {"skill", 3}};
  extra.spec.encoders = {{"fractions", {Mlp({3}, "tanh")}}};
  cases.push_back(extra);
  extra.name = "an algorithm's own inputs beside an action";
  extra.need.takes_action = true;
  extra.spec.torso = {};
  extra.spec.encoders = {{"skill", {Mlp({2}, "silu")}}};
  cases.push_back(extra);

  const NetworkNeed critic = need({{"q", HeadKind::kValue}}, /*takes_action=*/true);
  cases.push_back({"a critic", critic, spec({Mlp({4})}), Environment({Vector(3)}, real)});
  NetworkCase encoded_critic{"a critic whose action is encoded", critic, spec({Mlp({4}, "tanh")}),
                             Environment({image}, real)};
  encoded_critic.spec.encoders = {{"observation", {Conv(2, 3, 2)}}, {"action", {Mlp({3}, "tanh")}}};
  cases.push_back(encoded_critic);
  NetworkCase joint_critic{"a critic of several actions", critic, spec({Mlp({4})}), Environment({Vector(3)}, real)};
  joint_critic.environment.actions = {Box("action/a", DType::kFloat32, {}), Box("action/b", DType::kFloat32, {2, 1})};
  cases.push_back(joint_critic);
  cases.push_back({"a critic of choices", critic, spec({Mlp({4})}), Environment({Vector(3)}, several)});
  return cases;
}

// Small networks with a core of each type, after and before every kind of part.
inline std::vector<NetworkCase> RecurrentNetworkCases() {
  const SpaceLeaf discrete = Discrete("action", 3);
  std::vector<NetworkCase> cases;
  for (const char* type : {"lstm", "gru"}) {
    NetworkCase network;
    network.need.name = "net";
    network.need.heads = {{"q", HeadKind::kQ}};
    network.spec.torso = {Mlp({4}, "tanh")};
    network.spec.core.type = type;
    network.spec.core.units = 5;
    network.environment = Environment({Vector(3)}, discrete);
    const std::string name(type);
    cases.push_back(network);
    cases.back().name = name;

    cases.push_back(network);
    cases.back().name = name + " between an observation and a dueling head with hidden layers";
    cases.back().spec.torso = {};
    cases.back().spec.heads["q"] = Head("dueling", {4}, "tanh");

    cases.push_back(network);
    cases.back().name = name + " after a conv";
    cases.back().spec.torso = {Conv(2, 3, 2)};
    cases.back().environment = Environment({Box("observation", DType::kFloat32, {2, 6, 5})}, discrete);

    cases.push_back(network);
    cases.back().name = name + " of every leaf";
    cases.back().spec.encoders["camera"] = {Conv(2, 3, 2)};
    cases.back().environment = Environment(EveryLeaf(3), discrete);

    cases.push_back(network);
    cases.back().name = name + " of a policy and of a value that shares nothing";
    cases.back().need.heads = {{"policy", HeadKind::kNormal}, {"value", HeadKind::kValue}};
    cases.back().spec.heads["policy"].initial_std = 0.5;
    cases.back().spec.heads["value"].shares = "nothing";
    cases.back().environment = Environment({Vector(3)}, Box("action", DType::kFloat32, {2}, -1, 1));

    cases.push_back(network);
    cases.back().name = name + " of a critic";
    cases.back().need.heads = {{"q", HeadKind::kValue}};
    cases.back().need.takes_action = true;
    cases.back().environment = Environment({Vector(3)}, Box("action", DType::kFloat32, {2}, -1, 1));
    for (const int64_t members : {1, 3}) {
      cases.push_back(cases.back());
      cases.back().name = name + " of critics, members: " + std::to_string(members);
      cases.back().need.members = members;
    }
    cases.push_back(network);
    cases.back().name = name + " of two members on an observation";
    cases.back().spec.torso = {};
    cases.back().need.members = 2;
  }
  return cases;
}

// NetworksWithoutMembers as they are, with one member and with three.
inline std::vector<NetworkCase> NetworkCases() {
  std::vector<NetworkCase> cases;
  for (const NetworkCase& network : NetworksWithoutMembers()) {
    for (const int64_t members : {0, 1, 3}) {
      cases.push_back(network);
      if (members > 0) {
        cases.back().name += "; members: " + std::to_string(members);
        cases.back().need.members = members;
      }
    }
  }
  return cases;
}

}  // namespace waggle::testing
