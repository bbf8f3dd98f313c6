#include "common/plan/network_spec.h"

#include <string>
#include <vector>

#include "common/base/problems.h"

namespace waggle {
namespace {

constexpr int64_t kMaxUnits = 65'536;
constexpr int64_t kMaxChannels = 4'096;
constexpr int64_t kMaxKernel = 256;
constexpr char kNotOfMlp[] = "means nothing to an mlp, which has units";

const std::vector<std::string>& LayerTypes() {
  static const auto* const names = new std::vector<std::string>{"mlp", "conv"};
  return *names;
}

const std::vector<std::string>& HeadTypes() {
  static const auto* const names = new std::vector<std::string>{"q", "dueling"};
  return *names;
}

const std::vector<std::string>& Activations() {
  static const auto* const names =
      new std::vector<std::string>{"relu", "tanh", "elu", "gelu", "silu", "leaky_relu", "sigmoid", "none"};
  return *names;
}

const std::vector<std::string>& Initializations() {
  static const auto* const names =
      new std::vector<std::string>{"default", "orthogonal", "xavier_uniform", "kaiming_normal", "zeros"};
  return *names;
}

}  // namespace

void LayerSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, LayerTypes());
  visitor.IntList("units", &units, In(1, kMaxUnits));
  visitor.Int("channels", &channels, In(1, kMaxChannels));
  visitor.Int("kernel", &kernel, In(1, kMaxKernel));
  visitor.Int("stride", &stride, In(1, kMaxKernel));
  visitor.Int("padding", &padding, In(0, kMaxKernel));
  visitor.Choice("activation", &activation, Activations());
  visitor.Choice("initialization", &initialization, Initializations());
}

absl::Status LayerSpec::Validate() const {
  const LayerSpec defaults;
  Problems foreign;
  if (type == "mlp") {
    foreign.AddUnless(!units.empty(), "units: an mlp needs at least one layer");
    foreign.AddUnless(channels == defaults.channels, "channels: ", kNotOfMlp);
    foreign.AddUnless(kernel == defaults.kernel, "kernel: ", kNotOfMlp);
    foreign.AddUnless(stride == defaults.stride, "stride: ", kNotOfMlp);
    foreign.AddUnless(padding == defaults.padding, "padding: ", kNotOfMlp);
  } else {
    foreign.AddUnless(units == defaults.units, "units: means nothing to a conv, which has channels");
  }
  return foreign.ToStatus();
}

void HeadSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, HeadTypes());
  visitor.IntList("units", &units, In(1, kMaxUnits));
  visitor.Choice("activation", &activation, Activations());
  visitor.Choice("initialization", &initialization, Initializations());
}

absl::Status HeadSpec::Validate() const {
  return absl::OkStatus();
}

void NetworkSpec::Visit(ConfigVisitor& visitor) {
  visitor.List("torso", &torso);
  visitor.Section("head", &head);
}

absl::Status NetworkSpec::Validate() const {
  return absl::OkStatus();
}

}  // namespace waggle
