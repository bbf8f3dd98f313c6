#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/plan/network_spec.h"

namespace waggle::testing {

// A network and what it is for.
struct NetworkCase {
  std::string name;
  NetworkSpec network;
  ArraySpec observation;
  int64_t outputs = 0;
};

// Small networks that between them have every kind of layer, head, activation and observation.
inline std::vector<NetworkCase> NetworkCases() {
  std::vector<NetworkCase> cases;
  const ArraySpec vector{"observation", DType::kFloat32, {3}};
  const ArraySpec image{"observation", DType::kUint8, {2, 7, 6}};
  for (const char* activation : {"relu", "tanh", "elu", "gelu", "silu", "leaky_relu", "sigmoid", "none"}) {
    NetworkCase mlp{std::string("mlp ") + activation, {}, vector, 2};
    mlp.network.torso[0].units = {5, 4};
    mlp.network.torso[0].activation = activation;
    cases.push_back(mlp);
    NetworkCase conv{std::string("conv ") + activation, {}, image, 3};
    conv.network.torso.resize(2);
    conv.network.torso[0].type = "conv";
    conv.network.torso[0].channels = 4;
    conv.network.torso[0].kernel = 3;
    conv.network.torso[0].stride = 2;
    conv.network.torso[0].padding = 1;
    conv.network.torso[0].activation = activation;
    conv.network.torso[1].units = {6};
    cases.push_back(conv);
  }
  for (const bool conv : {false, true}) {
    NetworkCase dueling{conv ? "dueling after a conv" : "dueling", {}, conv ? image : vector, 4};
    if (conv) {
      dueling.network.torso[0].type = "conv";
    } else {
      dueling.network.torso[0].units = {5};
    }
    dueling.network.head.type = "dueling";
    dueling.network.head.units = {6};
    cases.push_back(dueling);
    dueling.name += " without hidden layers";
    dueling.network.head.units = {};
    cases.push_back(dueling);
    dueling.name += " or torso";
    dueling.network.torso = {};
    cases.push_back(dueling);
  }
  NetworkCase linear{"a head alone on a scalar", {}, ArraySpec{"observation", DType::kFloat32, {}}, 2};
  linear.network.torso = {};
  cases.push_back(linear);
  NetworkCase deep{"two convs and a deep head on float64", {}, ArraySpec{"observation", DType::kFloat64, {1, 9, 9}}, 2};
  deep.network.torso.resize(2);
  for (LayerSpec& layer : deep.network.torso) {
    layer.type = "conv";
    layer.channels = 3;
  }
  deep.network.head.units = {7, 6};
  deep.network.head.activation = "tanh";
  cases.push_back(deep);
  return cases;
}

}  // namespace waggle::testing
