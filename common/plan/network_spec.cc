#include "common/plan/network_spec.h"

#include <string>
#include <vector>

#include "common/base/problems.h"

namespace waggle {
namespace {

constexpr int64_t kMaxUnits = 65'536;
constexpr int64_t kMaxChannels = 4'096;
constexpr int64_t kMaxKernel = 256;

using Names = std::vector<std::string>;

const Names& LayerTypes() {
  static const auto* const names =
      new Names{"mlp", "conv", "flatten", "layer_norm", "residual", "embedding", "one_hot", kIgnore};
  return *names;
}

const Names& Activations() {
  static const auto* const names = new Names{"relu", "tanh", "elu", "gelu", "silu", "leaky_relu", "sigmoid", "none"};
  return *names;
}

const Names& Initializations() {
  static const auto* const names = new Names{"default", "orthogonal", "xavier_uniform", "kaiming_normal", "zeros"};
  return *names;
}

bool HasUnits(const std::string& type) {
  return type == "mlp" || type == "residual";
}

bool HasWeights(const std::string& type) {
  return HasUnits(type) || type == "conv";
}

void VisitInitialization(std::string* initialization, std::optional<double>* gain, ConfigVisitor* visitor) {
  visitor->Choice("initialization", initialization, Initializations());
  visitor->OptionalDouble("gain", gain, In(0, 1'000));
}

void CheckGain(const std::string& initialization, const std::optional<double>& gain, Problems* problems) {
  problems->AddUnless(!gain.has_value() || (initialization != "default" && initialization != "zeros"),
                      "gain: means nothing to the initialization ", initialization,
                      "; wanted none, or one of orthogonal, xavier_uniform, kaiming_normal");
}

}  // namespace

std::string LayerSpec::ActivationOrDefault() const {
  return !activation.empty() ? activation : HasWeights(type) ? "relu" : "none";
}

void LayerSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, LayerTypes());
  visitor.IntList("units", &units, In(1, kMaxUnits));
  visitor.Int("channels", &channels, In(1, kMaxChannels));
  visitor.Int("kernel", &kernel, In(1, kMaxKernel));
  visitor.Int("stride", &stride, In(1, kMaxKernel));
  visitor.Int("padding", &padding, In(0, kMaxKernel));
  visitor.Int("dimensions", &dimensions, In(1, kMaxUnits));
  activation = ActivationOrDefault();  // So that the effective configuration shows it.
  visitor.Choice("activation", &activation, Activations());
  VisitInitialization(&initialization, &gain, &visitor);
}

absl::Status LayerSpec::Validate() const {
  const LayerSpec defaults;
  Problems problems;
  const auto only_of = [&](bool has_meaning, const char* field, bool is_default, const char* wanted) {
    problems.AddUnless(has_meaning || is_default, field, ": means nothing to the layer ", type, "; wanted none, or ",
                       wanted);
  };
  only_of(HasUnits(type), "units", units == defaults.units, "an mlp or a residual");
  only_of(type == "conv", "channels", channels == defaults.channels, "a conv");
  only_of(type == "conv", "kernel", kernel == defaults.kernel, "a conv");
  only_of(type == "conv", "stride", stride == defaults.stride, "a conv");
  only_of(type == "conv", "padding", padding == defaults.padding, "a conv");
  only_of(type == "embedding", "dimensions", dimensions == defaults.dimensions, "an embedding");
  only_of(HasWeights(type) || type == "layer_norm", "activation", activation.empty() || activation == "none",
          "a layer with weights");
  only_of(HasWeights(type), "initialization", initialization == defaults.initialization, "a layer with weights");
  problems.AddUnless(!HasUnits(type) || !units.empty(), "units: wanted at least one layer");
  CheckGain(initialization, gain, &problems);
  return problems.ToStatus();
}

void CoreSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, {"none", "lstm", "gru"});
  visitor.Int("units", &units, In(1, kMaxUnits));
}

absl::Status CoreSpec::Validate() const {
  Problems problems;
  problems.AddUnless(type != "none" || units == CoreSpec().units,
                     "units: means nothing to the core none; wanted none, or an lstm or a gru");
  return problems.ToStatus();
}

void HeadSpec::Visit(ConfigVisitor& visitor) {
  visitor.String("type", &type);  // Which there are depends on the kind: PlanNetwork knows.
  visitor.IntList("units", &units, In(1, kMaxUnits));
  visitor.Choice("activation", &activation, Activations());
  VisitInitialization(&initialization, &gain, &visitor);
  visitor.Choice("std", &std, {"free", "of_state"});
  visitor.Double("initial_std", &initial_std, Above(0, 100));
  visitor.Double("min_log_std", &min_log_std, In(-100, 10));
  visitor.Double("max_log_std", &max_log_std, In(-100, 10));
  visitor.Choice("shares", &shares, {"all", "nothing"});
}

absl::Status HeadSpec::Validate() const {
  Problems problems;
  CheckGain(initialization, gain, &problems);
  problems.AddUnless(min_log_std < max_log_std, "min_log_std: ", min_log_std, " is not below max_log_std, ",
                     max_log_std);
  return problems.ToStatus();
}

void NetworkSpec::Visit(ConfigVisitor& visitor) {
  visitor.Bool("normalize_observations", &normalize_observations);
  visitor.MapOfLists("encoders", &encoders);
  visitor.Choice("join", &join, {"concat", "sum"});
  visitor.List("torso", &torso);
  visitor.Section("core", &core);
  visitor.Map("heads", &heads);
}

absl::Status NetworkSpec::Validate() const {
  return absl::OkStatus();
}

}  // namespace waggle
