#include "common/config/plan/network_spec.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/problems.h"

namespace waggle {
namespace {

constexpr int64_t kMaxUnits = 65'536;
constexpr int64_t kMaxChannels = 4'096;
constexpr int64_t kMaxKernel = 256;
constexpr double kMaxGain = 1'000;
constexpr int64_t kMaxRenormAfter = 10'000'000;  // Batches are counted in float32, up to 2^24.

using Names = std::vector<std::string>;

const Names& LayerTypes() {
  static const auto* const names =
      new Names{"mlp", "conv", "flatten", "layer_norm", "batch_norm", "residual", "embedding", "one_hot", kIgnore};
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
  const auto applies = [&](bool has_meaning, const char* key, const char* wanted) {
    return visitor.Applies(key, has_meaning,
                           absl::StrCat("means nothing to the layer ", type, "; wanted none, or ", wanted));
  };
  if (applies(HasUnits(type), "units", "an mlp or a residual")) {
    visitor.IntList("units", &units, In(1, kMaxUnits));
  }
  if (applies(type == "mlp", "noise", "an mlp")) {
    visitor.Double("noise", &noise, In(0, 10));
  }
  const bool conv = type == "conv";
  if (applies(conv, "channels", "a conv")) {
    visitor.Int("channels", &channels, In(1, kMaxChannels));
  }
  if (applies(conv, "kernel", "a conv")) {
    visitor.Int("kernel", &kernel, In(1, kMaxKernel));
  }
  if (applies(conv, "stride", "a conv")) {
    visitor.Int("stride", &stride, In(1, kMaxKernel));
  }
  if (applies(conv, "padding", "a conv")) {
    visitor.Int("padding", &padding, In(0, kMaxKernel));
  }
  if (applies(type == "embedding", "dimensions", "an embedding")) {
    visitor.Int("dimensions", &dimensions, In(1, kMaxUnits));
  }
  const bool batch_norm = type == "batch_norm";
  if (applies(batch_norm, "rate", "a batch_norm")) {
    visitor.Double("rate", &rate, Above(0, 1));
  }
  if (applies(batch_norm, "renorm_after", "a batch_norm")) {
    visitor.Int("renorm_after", &renorm_after, In(0, kMaxRenormAfter));
  }
  activation = ActivationOrDefault();  // So that the effective configuration shows it.
  const char* const weights = "a layer with weights";
  if (applies(HasWeights(type) || type == "layer_norm" || batch_norm, "activation", weights)) {
    visitor.Choice("activation", &activation, Activations());
  }
  if (applies(HasWeights(type), "initialization", weights)) {
    visitor.Choice("initialization", &initialization, Initializations());
  }
  if (applies(HasWeights(type), "gain", weights)) {
    visitor.OptionalDouble("gain", &gain, In(0, kMaxGain));
  }
}

absl::Status LayerSpec::Validate() const {
  Problems problems;
  problems.AddUnless(!HasUnits(type) || !units.empty(), "units: wanted at least one layer");
  CheckGain(initialization, gain, &problems);
  return problems.ToStatus();
}

void CoreSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, {"none", "lstm", "gru"});
  if (visitor.Applies("units", type != "none", "means nothing to the core none; wanted none, or an lstm or a gru")) {
    visitor.Int("units", &units, In(1, kMaxUnits));
  }
}

void HeadSpec::Visit(ConfigVisitor& visitor) {
  visitor.String("type", &type);  // The types depend on the kind, which PlanNetwork knows.
  visitor.IntList("units", &units, In(1, kMaxUnits));
  visitor.Choice("activation", &activation, Activations());
  visitor.Choice("initialization", &initialization, Initializations());
  visitor.OptionalDouble("gain", &gain, In(0, kMaxGain));
  visitor.Double("noise", &noise, In(0, 10));
  // Only some kinds have these keys; PlanNetwork knows which.
  if (visitor.MayBeGiven(!std.empty())) {
    visitor.String("std", &std);
  }
  if (visitor.MayBeGiven(initial_std.has_value())) {
    visitor.OptionalDouble("initial_std", &initial_std, Above(0, 100));
  }
  if (visitor.MayBeGiven(min_log_std.has_value())) {
    visitor.OptionalDouble("min_log_std", &min_log_std, In(-100, 10));
  }
  if (visitor.MayBeGiven(max_log_std.has_value())) {
    visitor.OptionalDouble("max_log_std", &max_log_std, In(-100, 10));
  }
  visitor.Choice("shares", &shares, {"all", "nothing"});
}

absl::Status HeadSpec::Validate() const {
  Problems problems;
  CheckGain(initialization, gain, &problems);
  problems.AddUnless(MinLogStd() < MaxLogStd(), "min_log_std: ", MinLogStd(), " is not below max_log_std, ",
                     MaxLogStd());
  return problems.ToStatus();
}

void NormalizerSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("average", &average, {"all", "window", "exponential", "adaptive"});
  const auto applies = [&](const char* key, const char* to) {
    return visitor.Applies(key, average == to,
                           absl::StrCat("means nothing to the average ", average, "; wanted none, or ", to));
  };
  if (applies("window", "window")) {
    visitor.Int("window", &window, In(1, 100'000));
  }
  if (applies("rate", "exponential")) {
    visitor.Double("rate", &rate, Above(0, 1));
  }
  if (applies("speed", "adaptive")) {
    visitor.Double("speed", &speed, In(1, 1'000));
  }
}

void NetworkSpec::Visit(ConfigVisitor& visitor) {
  visitor.Bool("normalize_observations", &normalize_observations);
  if (visitor.Applies("normalizer", normalize_observations,
                      "means nothing without normalize_observations; wanted none, or that to be true")) {
    visitor.Section("normalizer", &normalizer);
  }
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
