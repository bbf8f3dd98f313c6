#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/config_visitor.h"
#include "common/spec/environment_spec.h"
#include "common/tensor/array_spec.h"

// Networks as YAML describes them. Free of LibTorch: shapes are inferred and checked here, and the network is built
// from the result (common/nn/network.h).

namespace waggle {

// One entry of `network.torso`.
struct LayerSpec {
  std::string type = "mlp";  // mlp or conv.

  // mlp: dense layers of these widths; its input is flattened.
  std::vector<int64_t> units = {64, 64};
  // conv: one two-dimensional convolution over [channels, height, width].
  int64_t channels = 32;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 0;

  std::string activation = "relu";  // relu, tanh, elu, gelu, silu, leaky_relu, sigmoid or none; after every layer.
  std::string initialization = "default";  // default (LibTorch's own: Kaiming uniform, a = sqrt 5), orthogonal,
                                           // xavier_uniform, kaiming_normal or zeros.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `network.head`: what turns the torso's features into what the algorithm wants.
struct HeadSpec {
  std::string type = "q";      // q: one value an action; dueling: V + A - mean A, each with hidden layers of its own.
  std::vector<int64_t> units;  // Hidden dense layers before the output; of each stream where there are two.
  std::string activation = "relu";
  std::string initialization = "default";

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `network:`.
struct NetworkSpec {
  std::vector<LayerSpec> torso = {LayerSpec()};
  HeadSpec head;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// A parameter tensor, as it will be: its name is "torso.0.linear1.weight" or the like.
struct NetworkShape {
  std::vector<ArraySpec> parameters;
  // What goes into each torso layer, the head, and comes out; for messages and for `waggle check`.
  std::vector<std::vector<int64_t>> activations;
  int64_t num_parameters = 0;
  // Of the description, the observation, the action and the parameters' shapes; weights travel with it.
  uint64_t hash = 0;
};

// Resolves every shape for one row of `observation` and `num_outputs` outputs of the head. INVALID_ARGUMENT names the
// layer that does not fit and both shapes.
absl::StatusOr<NetworkShape> InferShapes(const NetworkSpec& network, const ArraySpec& observation, int64_t num_outputs);

}  // namespace waggle
