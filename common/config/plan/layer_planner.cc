#include "common/config/plan/layer_planner.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/config/spec/space_leaf.h"

namespace waggle {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// The sum of choices, each at most kMaxNumValues; one more than that if it is larger, which no array can be.
int64_t Sum(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) {
    sum = std::min(sum + value, kMaxNumValues + 1);
  }
  return sum;
}

int64_t Product(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t dimension : shape) {
    product *= dimension;  // Cannot overflow: every shape was checked as an array's.
  }
  return product;
}

}  // namespace

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

void LayerPlanner::Begin(std::vector<int64_t> shape, std::vector<int64_t> num_values) {
  shape_ = std::move(shape);
  num_values_ = std::move(num_values);
  raw_ = true;
}

int64_t LayerPlanner::width() const {
  return Product(shape_);
}

absl::Status LayerPlanner::Add(const std::string& name, const LayerSpec& layer, std::vector<LayerPlan>* layers) {
  if (layer.type == kIgnore) {
    return absl::InvalidArgumentError("ignore: wanted as the only layer of an encoder of an observation");
  }
  if (layer.type == "embedding") {
    return AddEmbedding(name, layer, layers);
  }
  if (layer.type == "one_hot") {
    return AddOneHot(layers);
  }
  if (choices()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its input is choices; wanted one_hot or embedding before a layer of numbers"));
  }
  if (layer.type == "conv") {
    return AddConv(name, layer, layers);
  }
  if (layer.type == "flatten") {
    AddFlatten(layers);
    return absl::OkStatus();
  }
  if (layer.type == "layer_norm") {
    return AddLayerNorm(name, layer, layers);
  }
  if (layer.type == "batch_norm") {
    return AddBatchNorm(name, layer, layers);
  }
  if (layer.type == "residual") {
    return AddResidual(name, layer, layers);
  }
  for (size_t k = 0; k < layer.units.size(); ++k) {
    WAGGLE_RETURN_IF_ERROR(AddDense(absl::StrCat(name, ".linear", k + 1), layer.units[k],
                                    ParseActivation(layer.ActivationOrDefault()),
                                    ParseInitialization(layer.initialization), layer.gain, layer.noise, layers));
  }
  return absl::OkStatus();
}

absl::Status LayerPlanner::CheckIsVector() const {
  if (raw()) {
    // An image that became a vector unasked would learn next to nothing, for no visible reason.
    return absl::InvalidArgumentError(absl::StrCat("its input has the shape ", ShapeText(shape_),
                                                   "; wanted a vector: put conv or flatten layers before it"));
  }
  return absl::OkStatus();
}

absl::Status LayerPlanner::AddDense(const std::string& name, int64_t outputs, Activation activation,
                                    Initialization initialization, std::optional<double> gain, double noise,
                                    std::vector<LayerPlan>* layers) {
  WAGGLE_RETURN_IF_ERROR(CheckIsVector());
  if (noise > 0 && shape_.size() != 1) {
    AddFlatten(layers);  // A convolution's output.
  }
  LayerPlan layer;
  layer.kind = noise > 0 ? LayerPlan::Kind::kNoisyDense : LayerPlan::Kind::kDense;
  layer.activation = activation;
  layer.initialization = initialization;
  layer.gain = gain;
  layer.noise = noise;
  WAGGLE_RETURN_IF_ERROR(AddParameters(name, {outputs, width()}, {outputs}, &layer));
  if (noise > 0) {
    AddParameter(absl::StrCat(name, ".weight_deviation"), {outputs, width()});
    AddParameter(absl::StrCat(name, ".bias_deviation"), {outputs});
  }
  shape_ = {outputs};
  raw_ = false;
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
  return absl::OkStatus();
}

absl::Status LayerPlanner::AddConv(const std::string& name, const LayerSpec& spec, std::vector<LayerPlan>* layers) {
  if (shape_.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("its input has the shape ", ShapeText(shape_), "; a convolution wants [channels, height, width]"));
  }
  const int64_t height = shape_[1] + 2 * spec.padding - spec.kernel;
  const int64_t width = shape_[2] + 2 * spec.padding - spec.kernel;
  if (height < 0 || width < 0) {
    return absl::InvalidArgumentError(absl::StrCat("its input of the shape ", ShapeText(shape_),
                                                   " is smaller than its kernel of [", spec.kernel, ", ", spec.kernel,
                                                   "] with a padding of ", spec.padding));
  }
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kConv;
  layer.stride = spec.stride;
  layer.padding = spec.padding;
  layer.activation = ParseActivation(spec.ActivationOrDefault());
  layer.initialization = ParseInitialization(spec.initialization);
  layer.gain = spec.gain;
  WAGGLE_RETURN_IF_ERROR(AddParameters(absl::StrCat(name, ".conv"),
                                       {spec.channels, shape_[0], spec.kernel, spec.kernel}, {spec.channels}, &layer));
  shape_ = {spec.channels, height / spec.stride + 1, width / spec.stride + 1};
  raw_ = false;
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
  return ArraySpec{name, DType::kFloat32, shape_}.Validate();
}

absl::Status LayerPlanner::AddResidual(const std::string& name, const LayerSpec& spec, std::vector<LayerPlan>* layers) {
  if (shape_.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("its input has the shape ", ShapeText(shape_), "; a residual wants a vector"));
  }
  const int64_t inputs = width();
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kResidual;
  for (size_t k = 0; k <= spec.units.size(); ++k) {
    const bool back = k == spec.units.size();
    WAGGLE_RETURN_IF_ERROR(AddDense(absl::StrCat(name, ".linear", k + 1), back ? inputs : spec.units[k],
                                    back ? Activation::kNone : ParseActivation(spec.ActivationOrDefault()),
                                    ParseInitialization(spec.initialization), spec.gain, /*noise=*/0, &layer.inner));
  }
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
  return absl::OkStatus();
}

absl::Status LayerPlanner::AddLayerNorm(const std::string& name, const LayerSpec& spec,
                                        std::vector<LayerPlan>* layers) {
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kLayerNorm;
  layer.activation = ParseActivation(spec.ActivationOrDefault());
  WAGGLE_RETURN_IF_ERROR(AddParameters(absl::StrCat(name, ".norm"), shape_, shape_, &layer));
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
  return absl::OkStatus();
}

absl::Status LayerPlanner::AddBatchNorm(const std::string& name, const LayerSpec& spec,
                                        std::vector<LayerPlan>* layers) {
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kBatchNorm;
  layer.activation = ParseActivation(spec.ActivationOrDefault());
  layer.rate = spec.rate;
  layer.renorm_after = spec.renorm_after;
  const std::vector<int64_t> channels = {shape_[0]};
  WAGGLE_RETURN_IF_ERROR(AddParameters(absl::StrCat(name, ".norm"), channels, channels, &layer));
  layer.statistics = AddTo(statistics_, absl::StrCat(name, ".norm.mean"), channels);
  AddTo(statistics_, absl::StrCat(name, ".norm.variance"), channels);
  AddTo(statistics_, absl::StrCat(name, ".norm.batches"), {1});
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
  return absl::OkStatus();
}

absl::Status LayerPlanner::AddEmbedding(const std::string& name, const LayerSpec& spec,
                                        std::vector<LayerPlan>* layers) {
  if (!choices()) {
    return absl::InvalidArgumentError("its input is numbers; an embedding wants choices");
  }
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kEmbedding;
  layer.num_values = std::exchange(num_values_, {});
  layer.initialization = ParseInitialization(spec.initialization);
  WAGGLE_RETURN_IF_ERROR(
      AddParameters(absl::StrCat(name, ".embedding"), {Sum(layer.num_values), spec.dimensions}, {}, &layer));
  shape_ = {static_cast<int64_t>(layer.num_values.size()) * spec.dimensions};
  raw_ = false;
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
  return absl::OkStatus();
}

absl::Status LayerPlanner::AddOneHot(std::vector<LayerPlan>* layers) {
  if (!choices()) {
    return absl::InvalidArgumentError("its input is numbers; one_hot wants choices");
  }
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kOneHot;
  layer.num_values = std::exchange(num_values_, {});
  shape_ = {Sum(layer.num_values)};
  raw_ = false;
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
  return ArraySpec{"one_hot", DType::kFloat32, shape_}.Validate();
}

absl::StatusOr<std::vector<CorePlan>> LayerPlanner::AddCores(const std::string& name, const CoreSpec& spec,
                                                             int64_t state) {
  WAGGLE_RETURN_IF_ERROR(CheckIsVector());
  std::vector<CorePlan> cores;
  for (int64_t member = 0; member < members_.value_or(1); ++member) {
    CorePlan core;
    core.kind = spec.type == "lstm" ? CorePlan::Kind::kLstm : CorePlan::Kind::kGru;
    core.units = spec.units;
    core.state = state + member * core.state_size();
    core.weight = static_cast<int64_t>(parameters_->size());
    const std::string own = members_.has_value() ? absl::StrCat(name, ".member", member) : name;
    const int64_t rows = core.gates() * core.units;
    for (const auto& [parameter, shape] :
         std::initializer_list<std::pair<const char*, std::vector<int64_t>>>{{".weight_ih_l0", {rows, width()}},
                                                                             {".weight_hh_l0", {rows, core.units}},
                                                                             {".bias_ih_l0", {rows}},
                                                                             {".bias_hh_l0", {rows}}}) {
      parameters_->push_back(ArraySpec{absl::StrCat(own, parameter), DType::kFloat32, shape});
    }
    WAGGLE_RETURN_IF_ERROR((*parameters_)[static_cast<size_t>(core.weight)].Validate());
    cores.push_back(core);
  }
  shape_ = {spec.units};
  raw_ = false;
  return cores;
}

void LayerPlanner::AddFlatten(std::vector<LayerPlan>* layers) {
  LayerPlan layer;
  layer.kind = LayerPlan::Kind::kFlatten;
  layer.input_rank = static_cast<int64_t>(shape_.size());
  shape_ = {width()};
  raw_ = false;
  layer.output_shape = shape_;
  layers->push_back(std::move(layer));
}

int64_t LayerPlanner::AddParameter(const std::string& name, std::vector<int64_t> shape) {
  return AddTo(parameters_, name, std::move(shape));
}

int64_t LayerPlanner::AddTo(std::vector<ArraySpec>* arrays, const std::string& name, std::vector<int64_t> shape) const {
  if (members_.has_value()) {
    shape.insert(shape.begin(), *members_);
  }
  arrays->push_back(ArraySpec{name, DType::kFloat32, std::move(shape)});
  return static_cast<int64_t>(arrays->size()) - 1;
}

absl::Status LayerPlanner::AddParameters(const std::string& name, const std::vector<int64_t>& weight,
                                         const std::vector<int64_t>& bias, LayerPlan* layer) {
  layer->weight = AddParameter(absl::StrCat(name, ".weight"), weight);
  const ArraySpec& added = parameters_->back();
  WAGGLE_RETURN_IF_ERROR(added.Validate());
  if (added.NumElements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(added.DebugString(), " would be empty"));
  }
  if (!bias.empty()) {
    AddParameter(absl::StrCat(name, ".bias"), bias);
  }
  return absl::OkStatus();
}

}  // namespace waggle
