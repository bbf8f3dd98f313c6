#include "common/plan/network_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"

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

absl::Status CheckChoice(const char* key, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    return absl::InvalidArgumentError(absl::StrCat(key, ": \"", value, "\" is not one of ",
                                                   absl::StrJoin(choices, ", "), DidYouMean(value, choices)));
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const char* key, int64_t value, int64_t minimum, int64_t maximum) {
  if (value < minimum || value > maximum) {
    return absl::InvalidArgumentError(absl::StrCat(key, ": ", value, " is outside [", minimum, ", ", maximum, "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckUnits(const std::vector<int64_t>& units) {
  for (const int64_t width : units) {
    WAGGLE_RETURN_IF_ERROR(CheckRange("units", width, 1, kMaxUnits));
  }
  return absl::OkStatus();
}

}  // namespace

void LayerSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, LayerTypes());
  visitor.IntList("units", &units, 1, kMaxUnits);
  visitor.Int("channels", &channels, 1, kMaxChannels);
  visitor.Int("kernel", &kernel, 1, kMaxKernel);
  visitor.Int("stride", &stride, 1, kMaxKernel);
  visitor.Int("padding", &padding, 0, kMaxKernel);
  visitor.Choice("activation", &activation, Activations());
  visitor.Choice("initialization", &initialization, Initializations());
}

absl::Status LayerSpec::Validate() const {
  WAGGLE_RETURN_IF_ERROR(CheckChoice("type", type, LayerTypes()));
  WAGGLE_RETURN_IF_ERROR(CheckChoice("activation", activation, Activations()));
  WAGGLE_RETURN_IF_ERROR(CheckChoice("initialization", initialization, Initializations()));
  WAGGLE_RETURN_IF_ERROR(CheckUnits(units));
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
  WAGGLE_RETURN_IF_ERROR(foreign.ToStatus());
  WAGGLE_RETURN_IF_ERROR(CheckRange("channels", channels, 1, kMaxChannels));
  WAGGLE_RETURN_IF_ERROR(CheckRange("kernel", kernel, 1, kMaxKernel));
  WAGGLE_RETURN_IF_ERROR(CheckRange("stride", stride, 1, kMaxKernel));
  return CheckRange("padding", padding, 0, kMaxKernel);
}

void HeadSpec::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, HeadTypes());
  visitor.IntList("units", &units, 1, kMaxUnits);
  visitor.Choice("activation", &activation, Activations());
  visitor.Choice("initialization", &initialization, Initializations());
}

absl::Status HeadSpec::Validate() const {
  WAGGLE_RETURN_IF_ERROR(CheckChoice("type", type, HeadTypes()));
  WAGGLE_RETURN_IF_ERROR(CheckChoice("activation", activation, Activations()));
  WAGGLE_RETURN_IF_ERROR(CheckChoice("initialization", initialization, Initializations()));
  return CheckUnits(units);
}

void NetworkSpec::Visit(ConfigVisitor& visitor) {
  visitor.List("torso", &torso);
  visitor.Section("head", &head);
}

absl::Status NetworkSpec::Validate() const {
  for (size_t i = 0; i < torso.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(Annotate(torso[i].Validate(), absl::StrCat("torso[", i, "]")));
  }
  return Annotate(head.Validate(), "head");
}

}  // namespace waggle
