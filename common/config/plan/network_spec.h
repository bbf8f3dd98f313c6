#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"

// The inside of networks, as YAML describes it. Their inputs, outputs and number follow from the algorithm and the
// environment (common/config/plan/network_plan.h).

namespace waggle {

// The type of an encoder's only layer if the network must not see the leaf.
inline constexpr char kIgnore[] = "ignore";

// One entry of a list of layers, such as an encoder or a torso.
struct LayerSpec {
  std::string type = "mlp";  // mlp, conv, flatten, layer_norm, batch_norm, residual, embedding, one_hot or ignore.

  // mlp: dense layers of these widths. residual: dense layers of these widths and one back to the width of the input,
  // which is added to the result.
  std::vector<int64_t> units = {64, 64};
  // conv: one two-dimensional convolution over [channels, height, width].
  int64_t channels = 32;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 0;
  // embedding: for a leaf of choices, a learned vector of this many numbers for each choice.
  int64_t dimensions = 16;

  // mlp: above 0, layers whose weights have noise with learned deviations, in place of an exploration (noisy networks,
  // arXiv 1706.10295). A deviation begins at this over the root of the layer's number of inputs; the paper's is 0.5.
  double noise = 0;

  // batch_norm: the share of a batch in the running statistics, and the batches after which a learner step is of batch
  // renormalisation (arXiv 1702.03275); the values of arXiv 1902.05605.
  double rate = 0.01;
  int64_t renorm_after = 100'000;

  // After every layer: relu, tanh, elu, gelu, silu, leaky_relu, sigmoid or none. Empty: relu for mlp, conv and
  // residual, none for the others.
  std::string activation;
  std::string initialization = "default";  // default (LibTorch's own: Kaiming uniform, a = sqrt 5), orthogonal,
                                           // xavier_uniform, kaiming_normal or zeros.
  // For orthogonal, xavier_uniform and kaiming_normal; absent: the one that suits the activation.
  std::optional<double> gain;

  // The activation, or the type's default if it is empty.
  std::string ActivationOrDefault() const;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `networks.NAME.core`: a recurrent layer between the torso and the heads, for environments that do not show everything
// at once.
struct CoreSpec {
  std::string type = "none";  // none, lstm or gru.
  int64_t units = 64;         // Width of its output.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// `networks.NAME.heads.HEAD`: computes the algorithm's outputs from a torso's features.
struct HeadSpec {
  // One of the types of the algorithm's kind of head. q: one value an action (q), or V + A - mean A, each with hidden
  // layers of its own (dueling). Empty: the kind's first.
  std::string type;
  std::vector<int64_t> units;  // Hidden dense layers before the output; in each stream if there are two.
  std::string activation = "relu";
  std::string initialization = "default";
  std::optional<double> gain;  // For the output layer's weights, as a layer's.
  double noise = 0;            // For all its layers, as a layer's.

  // A normal distribution's standard deviation: learned numbers that do not depend on the observation (free, or empty),
  // or outputs of the network beside the means (of_state).
  std::string std;
  std::optional<double> initial_std;  // Absent: 1.
  // For a tanh-normal distribution: bounds of the logarithm of its standard deviation, which the network gives.
  std::optional<double> min_log_std;
  std::optional<double> max_log_std;
  bool has_free_std() const { return std != "of_state"; }
  double MinLogStd() const { return min_log_std.value_or(-20); }
  double MaxLogStd() const { return max_log_std.value_or(2); }

  // The part that it shares with the network's other heads: all (encoders, torso and core), or nothing: its own ones,
  // of the same description.
  std::string shares = "all";

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `networks.NAME.normalizer`: the rows that an observation's mean and deviation are taken over.
struct NormalizerSpec {
  // all: all rows that were ever learned from, with equal weights. window: the rows of the newest batches. exponential:
  // each batch takes a fixed share of the mean. adaptive: the row of number t of T has the weight (t / T)^(speed - 1),
  // so that the first rows of a run are forgotten, however long it is.
  std::string average = "all";
  int64_t window = 1'000;  // Batches.
  double rate = 1e-3;      // The share of a batch. The first 1 / rate batches have equal weights.
  double speed = 8;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// `networks.NAME:`, or `network:` if the algorithm has only one.
struct NetworkSpec {
  // Real observations of floating-point numbers become (x - mean) / deviation, within [-10, 10].
  bool normalize_observations = false;
  NormalizerSpec normalizer;  // Used only with normalize_observations.
  // Layers for a leaf of the observation, by its name without the common prefix ("camera" for "observation/camera";
  // "observation" if that is its whole name), or for "action" if the network takes it. A leaf without layers goes in
  // unchanged; choices as one-hot vectors.
  std::map<std::string, std::vector<LayerSpec>> encoders;
  std::string join = "concat";  // Joins the encoders' outputs: concat, in the order of the leaves, or sum.
  std::vector<LayerSpec> torso = {LayerSpec()};
  CoreSpec core;
  std::map<std::string, HeadSpec> heads;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
