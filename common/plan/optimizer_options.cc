#include "common/plan/optimizer_options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/base/problems.h"

namespace waggle {
namespace {

const std::vector<std::string>& Types() {
  static const auto* const names = new std::vector<std::string>{"adam", "adamw", "rmsprop", "sgd"};
  return *names;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void OptimizerOptions::Visit(ConfigVisitor& visitor) {
  const std::string type_before = type;
  visitor.Choice("type", &type, Types());
  if (type != type_before) {
    ForgetOtherTypes();
  }
  visitor.Schedule("learning_rate", &learning_rate, In(0, 10));
  visitor.Double("beta1", &beta1, In(0, 0.999999));
  visitor.Double("beta2", &beta2, In(0, 0.99999999));
  visitor.Double("alpha", &alpha, In(0, 0.99999999));
  visitor.Double("momentum", &momentum, In(0, 0.999999));
  visitor.Bool("centered", &centered);
  visitor.Bool("amsgrad", &amsgrad);
  visitor.Double("epsilon", &epsilon, In(0, 1));
  // Printed as the number that holds. One that is not given stays so: what is read later may be of another type.
  double decay = WeightDecay();
  visitor.Double("weight_decay", &decay, In(0, 10));
  if (decay != WeightDecay()) {
    weight_decay = decay;
  }
  visitor.Double("gradient_clip_norm", &gradient_clip_norm, In(0, 1e9));
}

void OptimizerOptions::ForgetOtherTypes() {
  const OptimizerOptions defaults;
  const bool is_adam = type == "adam" || type == "adamw";
  if (!is_adam) {
    beta1 = defaults.beta1;
    beta2 = defaults.beta2;
    amsgrad = defaults.amsgrad;
  }
  if (type != "rmsprop") {
    alpha = defaults.alpha;
    centered = defaults.centered;
  }
  momentum = is_adam ? defaults.momentum : momentum;
  epsilon = type == "sgd" ? defaults.epsilon : epsilon;
}

absl::Status OptimizerOptions::Validate() const {
  Problems problems;
  const OptimizerOptions defaults;
  const auto only_of = [&](const char* field, double value, double default_value, std::vector<std::string> types) {
    problems.AddUnless(Contains(types, type) || value == default_value, field, ": means nothing to ", type,
                       "; wanted none, or a type of ", absl::StrJoin(types, ", "));
  };
  only_of("beta1", beta1, defaults.beta1, {"adam", "adamw"});
  only_of("beta2", beta2, defaults.beta2, {"adam", "adamw"});
  only_of("alpha", alpha, defaults.alpha, {"rmsprop"});
  only_of("momentum", momentum, defaults.momentum, {"rmsprop", "sgd"});
  only_of("centered", centered, defaults.centered, {"rmsprop"});
  only_of("amsgrad", amsgrad, defaults.amsgrad, {"adam", "adamw"});
  only_of("epsilon", epsilon, defaults.epsilon, {"adam", "adamw", "rmsprop"});
  return problems.ToStatus();
}

}  // namespace waggle
