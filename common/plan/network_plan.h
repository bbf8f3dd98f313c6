#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/plan/network_spec.h"
#include "common/tensor/array_spec.h"

namespace waggle {

enum class Activation { kNone, kRelu, kTanh, kElu, kGelu, kSilu, kLeakyRelu, kSigmoid };
enum class Initialization { kDefault, kOrthogonal, kXavierUniform, kKaimingNormal, kZeros };

// One operation with parameters: a dense layer (its input is flattened) or a convolution, and what follows it.
struct LayerPlan {
  enum class Kind { kDense, kConv };
  Kind kind = Kind::kDense;
  int64_t weight = 0;  // Index into NetworkShape::parameters; the bias comes next.
  int64_t stride = 1;
  int64_t padding = 0;
  Activation activation = Activation::kNone;
  Initialization initialization = Initialization::kDefault;
};

// A network with every shape resolved: what is built is this, and nothing else decides about shapes.
struct NetworkPlan {
  NetworkShape shape;
  ArraySpec observation;
  int64_t num_outputs = 0;
  std::vector<LayerPlan> torso;
  std::vector<LayerPlan> output;  // From the torso's features to the outputs; the advantages of a dueling head.
  std::vector<LayerPlan> value;   // A dueling head's other stream; else empty.
};

// As InferShapes, which is the `shape` of this.
absl::StatusOr<NetworkPlan> PlanNetwork(const NetworkSpec& network, const ArraySpec& observation, int64_t num_outputs);

}  // namespace waggle
