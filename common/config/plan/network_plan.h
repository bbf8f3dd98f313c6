#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/tensor/array_spec.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/plan/network_spec.h"
#include "common/config/spec/environment_spec.h"
#include "common/config/spec/joint_action.h"

namespace waggle {

enum class Activation { kNone, kRelu, kTanh, kElu, kGelu, kSilu, kLeakyRelu, kSigmoid };
enum class Initialization { kDefault, kOrthogonal, kXavierUniform, kKaimingNormal, kZeros };

// One operation on a row's features, and its activation.
struct LayerPlan {
  enum class Kind {
    kDense,  // weight [out, in], bias [out].
    kConv,   // weight [out, in, kernel, kernel], bias [out].
    kFlatten,
    kLayerNorm,  // Over all features of a row; scale and shift of the features' shape.
    kResidual,   // The input plus the output of `inner`.
    kEmbedding,  // weight [choices, dimensions].
    kOneHot,
    // weight [out, in], bias [out] and their deviations, of the same shapes: y = (W + D ∘ e f(in)ᵀ) x + …, with noise
    // that factorises over inputs and outputs (arXiv 1706.10295).
    kNoisyDense,
    // Over all rows of a batch, channel by channel of the shape's first dimension: scale and shift [channels], and
    // running statistics: mean, variance [channels] and batches [1], the number of batches (arXiv 1502.03167).
    kBatchNorm,
  };
  Kind kind = Kind::kDense;
  int64_t weight = -1;      // Index into NetworkPlan::parameters; the layer's other parameters come next. -1: none.
  int64_t statistics = -1;  // The same for the first of its running statistics.
  int64_t stride = 1;
  int64_t padding = 0;
  Activation activation = Activation::kNone;
  Initialization initialization = Initialization::kDefault;
  std::optional<double> gain;
  double noise = 0;                   // kNoisyDense: the first deviation times the root of the number of inputs.
  double rate = 0;                    // kBatchNorm: LayerSpec's.
  int64_t renorm_after = 0;           // Likewise.
  std::vector<int64_t> num_values;    // kEmbedding, kOneHot: choices of each element.
  std::vector<LayerPlan> inner;       // kResidual.
  int64_t input_rank = 1;             // Dimensions of one row of the input.
  std::vector<int64_t> output_shape;  // For one row; for one member if there are several.
};

// Layers for one leaf of the observation, or for the action, before they are joined.
struct EncoderPlan {
  std::string name;  // The configuration's name.
  // The index into the environment's observations; -1: the action; -2 - i: input i of NetworkNeed::extra.
  int64_t leaf = 0;
  ArraySpec array;
  std::vector<LayerPlan> layers;
};

// A recurrent layer: its output for one row of an episode depends on earlier rows, through a state.
struct CorePlan {
  enum class Kind {
    kLstm,  // State: output h [units], cell c [units]. Gates: input, forget, cell, output.
    kGru,   // State: output h [units]. Gates: reset, update, new.
  };
  Kind kind = Kind::kLstm;
  int64_t units = 0;
  // Index into NetworkPlan::parameters of weight_ih [gates * units, inputs]; weight_hh [gates * units, units], bias_ih
  // [gates * units] and bias_hh [gates * units] come next. Shapes and order of gates are those of torch.nn.
  int64_t weight = -1;
  int64_t state = 0;  // The offset of its state in that of a row.

  int64_t gates() const { return kind == Kind::kLstm ? 4 : 3; }
  int64_t state_size() const { return kind == Kind::kLstm ? 2 * units : units; }
};

// Puts a leaf of the observation on a common scale before any encoder sees it. Descent does not change it.
struct NormalizerPlan {
  ArraySpec array;    // The leaf, by its name in the environment.
  int64_t leaf = 0;   // The index into the environment's observations.
  int64_t mean = -1;  // Indices into NetworkPlan::parameters, of the leaf's shape.
  int64_t deviation = -1;
  NormalizerSpec average = {};
  // The leaves of other agents by whose views the network is called, in its place, by name. Its rows are those of all.
  std::vector<std::string> also = {};

  // Equal for all networks that normalise this leaf by the same rows.
  std::string StatisticsName() const;
};

// From inputs to features.
struct TrunkPlan {
  std::vector<EncoderPlan> encoders;
  bool sum = false;  // The encoders' outputs are added; otherwise they are concatenated.
  std::vector<LayerPlan> torso;
  std::vector<CorePlan> cores;  // Empty, or one for each member; one without members.
  // Encoders of InputNeeds that multiply; their outputs have the width of the features.
  std::vector<EncoderPlan> multipliers;
};

// From features to the algorithm's head.
struct HeadPlan {
  std::string name;
  HeadKind kind = HeadKind::kQ;
  size_t trunk = 0;               // Index into NetworkPlan::trunks.
  std::vector<LayerPlan> layers;  // To the outputs; for a dueling head to the advantages.
  std::vector<LayerPlan> value;   // A dueling head's other stream; otherwise empty.
  int64_t outputs = 0;            // For a row.
  int64_t size = 1;               // HeadNeed's. Outputs of several choices are [choices, size], choice by choice.
  double low = 0, high = 0;       // HeadNeed's.
  // kNormal, kMixed: the parameter [real elements] that is learned by itself; -1: the network gives it.
  int64_t free_log_std = -1;
  double min_log_std = 0, max_log_std = 0;  // kTanhNormal.
};

// A network with every shape resolved: it is built from this, and nothing else decides about shapes. "The
// environment's" leaves and action are those of the view that it is for, if it is called by agents' views
// (NetworkNeed::agents).
struct NetworkPlan {
  std::string name;
  std::vector<TrunkPlan> trunks;  // The heads' shared one, if there is one, and then single heads' own.
  std::vector<HeadPlan> heads;    // In the order of their names.
  JointAction action;             // The heads describe it, and the network takes it if takes_action.
  bool takes_action = false;
  std::vector<InputNeed> extra;  // NetworkNeed's.
  bool has_target = false;
  std::optional<int64_t> members;  // See NetworkNeed.

  // "torso.0.linear1.weight" and the like; [members, …] if there are members.
  std::vector<ArraySpec> parameters;
  int64_t num_parameters = 0;
  int64_t num_learned = 0;  // Elements that descent changes; running statistics and normalizers come after them.
  std::vector<NormalizerPlan> normalizers;
  // Parameters that belong to no layer: their index and the first value of all their elements.
  std::vector<std::pair<int64_t, double>> initial_log_std;
  // Floats of a row's state in all cores together: 0 if there are none.
  int64_t state_size = 0;
  // Floats of all values that one row of inputs passes through, for estimates of memory.
  int64_t row_values = 0;
  // Identifies the network's computation: weights travel with it. Initialisation is left out, as it does not change
  // their meaning.
  uint64_t hash = 0;

  // Null if there is no such head.
  const HeadPlan* FindHead(const std::string& head) const;
  // True if the network uses this leaf of the observation, if only as an action's mask.
  bool Sees(int64_t leaf) const;
  // True if it has a kBatchNorm layer.
  bool HasBatchNorm() const;
};

// Calls visit(layer) for each layer, also for inner ones.
template <class Layers, class Visit>
void ForEachLayerOf(Layers& layers, const Visit& visit) {
  for (auto& layer : layers) {
    visit(layer);
    ForEachLayerOf(layer.inner, visit);
  }
}

// The same for a NetworkPlan's layers, which may be const.
template <class Plan, class Visit>
void ForEachLayer(Plan& plan, const Visit& visit) {
  for (auto& trunk : plan.trunks) {
    for (auto& encoder : trunk.encoders) {
      ForEachLayerOf(encoder.layers, visit);
    }
    ForEachLayerOf(trunk.torso, visit);
    for (auto& multiplier : trunk.multipliers) {
      ForEachLayerOf(multiplier.layers, visit);
    }
  }
  for (auto& head : plan.heads) {
    ForEachLayerOf(head.value, visit);
    ForEachLayerOf(head.layers, visit);
  }
}

// The column of a stream that holds the states of the network's cores: "core_state", float32 [state_size].
ArraySpec CoreStateColumn(const NetworkPlan& network);

// Resolves every shape for the algorithm's need and the environment. INVALID_ARGUMENT, one problem a line, each behind
// its key ("networks.critic.torso[0]: …"): keys that mean nothing there, with the nearest that do, and the layer that
// does not fit, with both shapes.
absl::StatusOr<NetworkPlan> PlanNetwork(const NetworkNeed& need, const NetworkSpec& network,
                                        const EnvironmentSpec& environment);

}  // namespace waggle
