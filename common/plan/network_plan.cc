#include "common/plan/network_plan.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/field_checker.h"
#include "xxhash.h"

namespace waggle {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

Activation ParseActivation(absl::string_view name) {
  if (name == "relu") {
    return Activation::kRelu;
  }
  if (name == "tanh") {
    return Activation::kTanh;
  }
  if (name == "elu") {
    return Activation::kElu;
  }
  if (name == "gelu") {
    return Activation::kGelu;
  }
  if (name == "silu") {
    return Activation::kSilu;
  }
  if (name == "leaky_relu") {
    return Activation::kLeakyRelu;
  }
  return name == "sigmoid" ? Activation::kSigmoid : Activation::kNone;
}

Initialization ParseInitialization(absl::string_view name) {
  if (name == "orthogonal") {
    return Initialization::kOrthogonal;
  }
  if (name == "xavier_uniform") {
    return Initialization::kXavierUniform;
  }
  if (name == "kaiming_normal") {
    return Initialization::kKaimingNormal;
  }
  return name == "zeros" ? Initialization::kZeros : Initialization::kDefault;
}

// Appends layers to a plan one after the other and keeps the shape between them.
class Planner {
 public:
  Planner(const NetworkSpec& network, const ArraySpec& observation, int64_t num_outputs) : network_(network) {
    plan_.observation = observation;
    plan_.num_outputs = num_outputs;
  }

  absl::StatusOr<NetworkPlan> Plan() {
    features_ = plan_.observation.shape;
    plan_.shape.activations.push_back(features_);
    for (size_t i = 0; i < network_.torso.size(); ++i) {
      const LayerSpec& layer = network_.torso[i];
      const absl::Status added = AddTorsoLayer(absl::StrCat("torso.", i), layer);
      WAGGLE_RETURN_IF_ERROR(Annotate(added, absl::StrCat("network.torso[", i, "] (", layer.type, ")")));
      plan_.shape.activations.push_back(features_);
    }
    WAGGLE_RETURN_IF_ERROR(Annotate(AddHead(), absl::StrCat("network.head (", network_.head.type, ")")));
    plan_.shape.activations.push_back({plan_.num_outputs});
    int64_t bytes = 0;
    for (const ArraySpec& parameter : plan_.shape.parameters) {
      plan_.shape.num_parameters += parameter.NumElements();
      bytes += parameter.NumBytes();
      if (bytes > kMaxArrayBytes) {  // They become one array.
        return absl::InvalidArgumentError(
            absl::StrCat("network: its parameters have more than ", kMaxArrayBytes, " bytes together"));
      }
    }
    plan_.shape.hash = Hash();
    return std::move(plan_);
  }

 private:
  absl::Status AddTorsoLayer(const std::string& name, const LayerSpec& layer) {
    const Activation activation = ParseActivation(layer.activation);
    const Initialization initialization = ParseInitialization(layer.initialization);
    if (layer.type == "conv") {
      return AddConv(name, layer, activation, initialization);
    }
    for (size_t k = 0; k < layer.units.size(); ++k) {
      WAGGLE_RETURN_IF_ERROR(AddDense(absl::StrCat(name, ".linear", k + 1), layer.units[k], activation, initialization,
                                      &features_, &plan_.torso));
    }
    return absl::OkStatus();
  }

  absl::Status AddHead() {
    if (network_.head.type == "dueling") {
      WAGGLE_RETURN_IF_ERROR(AddStream("head.value", 1, &plan_.value));
      return AddStream("head.advantage", plan_.num_outputs, &plan_.output);
    }
    return AddStream("head", plan_.num_outputs, &plan_.output);
  }

  absl::Status AddStream(const std::string& name, int64_t outputs, std::vector<LayerPlan>* layers) {
    const HeadSpec& head = network_.head;
    const Initialization initialization = ParseInitialization(head.initialization);
    std::vector<int64_t> features = features_;
    for (size_t k = 0; k < head.units.size(); ++k) {
      WAGGLE_RETURN_IF_ERROR(AddDense(absl::StrCat(name, ".linear", k + 1), head.units[k],
                                      ParseActivation(head.activation), initialization, &features, layers));
    }
    return AddDense(absl::StrCat(name, ".output"), outputs, Activation::kNone, initialization, &features, layers);
  }

  absl::Status AddDense(const std::string& name, int64_t outputs, Activation activation, Initialization initialization,
                        std::vector<int64_t>* features, std::vector<LayerPlan>* layers) {
    int64_t inputs = 1;
    for (const int64_t dimension : *features) {
      inputs *= dimension;  // Cannot overflow: the features were checked as an array.
    }
    LayerPlan layer;
    layer.kind = LayerPlan::Kind::kDense;
    layer.activation = activation;
    layer.initialization = initialization;
    WAGGLE_RETURN_IF_ERROR(AddParameters(name, {outputs, inputs}, layer, layers));
    *features = {outputs};
    return absl::OkStatus();
  }

  absl::Status AddConv(const std::string& name, const LayerSpec& spec, Activation activation,
                       Initialization initialization) {
    if (features_.size() != 3) {
      return absl::InvalidArgumentError(absl::StrCat("its input has the shape ", ShapeText(features_),
                                                     "; a convolution wants [channels, height, width]"));
    }
    const int64_t height = features_[1] + 2 * spec.padding - spec.kernel;
    const int64_t width = features_[2] + 2 * spec.padding - spec.kernel;
    if (height < 0 || width < 0) {
      return absl::InvalidArgumentError(absl::StrCat("its input of the shape ", ShapeText(features_),
                                                     " is smaller than its kernel of [", spec.kernel, ", ", spec.kernel,
                                                     "] with a padding of ", spec.padding));
    }
    LayerPlan layer;
    layer.kind = LayerPlan::Kind::kConv;
    layer.stride = spec.stride;
    layer.padding = spec.padding;
    layer.activation = activation;
    layer.initialization = initialization;
    WAGGLE_RETURN_IF_ERROR(AddParameters(absl::StrCat(name, ".conv"),
                                         {spec.channels, features_[0], spec.kernel, spec.kernel}, layer, &plan_.torso));
    features_ = {spec.channels, height / spec.stride + 1, width / spec.stride + 1};
    return ArraySpec{name, DType::kFloat32, features_}.Validate();
  }

  absl::Status AddParameters(const std::string& name, std::vector<int64_t> weight_shape, LayerPlan layer,
                             std::vector<LayerPlan>* layers) {
    layer.weight = static_cast<int64_t>(plan_.shape.parameters.size());
    const std::vector<int64_t> bias_shape = {weight_shape[0]};
    const ArraySpec weight{absl::StrCat(name, ".weight"), DType::kFloat32, std::move(weight_shape)};
    WAGGLE_RETURN_IF_ERROR(weight.Validate());
    if (weight.NumElements() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(weight.DebugString(), " would be empty"));
    }
    plan_.shape.parameters.push_back(weight);
    plan_.shape.parameters.push_back(ArraySpec{absl::StrCat(name, ".bias"), DType::kFloat32, bias_shape});
    layers->push_back(layer);
    return absl::OkStatus();
  }

  // Of everything that the outputs depend on. How weights were initialised is left out: they fit all the same.
  uint64_t Hash() const {
    std::string text = absl::StrCat("waggle network 1\n", plan_.observation.DebugString(), "\n", plan_.num_outputs,
                                    " outputs, head ", network_.head.type, "\n");
    for (const std::vector<LayerPlan>* layers : {&plan_.torso, &plan_.output, &plan_.value}) {
      for (const LayerPlan& layer : *layers) {
        absl::StrAppend(&text, static_cast<int>(layer.kind), " ", layer.weight, " ", layer.stride, " ", layer.padding,
                        " ", static_cast<int>(layer.activation), "\n");
      }
    }
    absl::StrAppend(&text, DebugString(plan_.shape.parameters));
    return XXH3_64bits(text.data(), text.size());
  }

  const NetworkSpec& network_;
  NetworkPlan plan_;
  std::vector<int64_t> features_;
};

}  // namespace

absl::StatusOr<NetworkPlan> PlanNetwork(const NetworkSpec& network, const ArraySpec& observation, int64_t num_outputs) {
  WAGGLE_RETURN_IF_ERROR(Annotate(Check(network), "network"));
  WAGGLE_RETURN_IF_ERROR(Annotate(observation.Validate(), "network: its input"));
  if (observation.NumElements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("network: its input ", observation.DebugString(), " has no elements"));
  }
  if (num_outputs < 1) {
    return absl::InvalidArgumentError(absl::StrCat("network.head: ", num_outputs, " outputs; wanted at least 1"));
  }
  return Planner(network, observation, num_outputs).Plan();
}

absl::StatusOr<NetworkShape> InferShapes(const NetworkSpec& network, const ArraySpec& observation,
                                         int64_t num_outputs) {
  WAGGLE_ASSIGN_OR_RETURN(NetworkPlan plan, PlanNetwork(network, observation, num_outputs));
  return std::move(plan.shape);
}

}  // namespace waggle
