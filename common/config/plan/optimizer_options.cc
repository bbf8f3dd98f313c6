#include "common/config/plan/optimizer_options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace waggle {
namespace {

const std::vector<std::string>& Types() {
  static const auto* const names = new std::vector<std::string>{"adam", "adamw", "rmsprop", "sgd"};
  return *names;
}

}  // namespace

void OptimizerOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, Types());
  const auto applies = [&](const char* key, const std::vector<std::string>& types) {
    return visitor.Applies(
        key, std::find(types.begin(), types.end(), type) != types.end(),
        absl::StrCat("means nothing to ", type, "; wanted none, or a type of ", absl::StrJoin(types, ", ")));
  };
  visitor.Schedule("learning_rate", &learning_rate, In(0, 10).Live());
  if (applies("beta1", {"adam", "adamw"})) {
    visitor.Double("beta1", &beta1, In(0, 0.999999));
  }
  if (applies("beta2", {"adam", "adamw"})) {
    visitor.Double("beta2", &beta2, In(0, 0.99999999));
  }
  if (applies("alpha", {"rmsprop"})) {
    visitor.Double("alpha", &alpha, In(0, 0.99999999));
  }
  if (applies("momentum", {"rmsprop", "sgd"})) {
    visitor.Double("momentum", &momentum, In(0, 0.999999));
  }
  if (applies("centered", {"rmsprop"})) {
    visitor.Bool("centered", &centered);
  }
  if (applies("amsgrad", {"adam", "adamw"})) {
    visitor.Bool("amsgrad", &amsgrad);
  }
  if (applies("epsilon", {"adam", "adamw", "rmsprop"})) {
    visitor.Double("epsilon", &epsilon, In(0, 1));
  }
  // Printed as the number that is used. A missing one stays missing: later keys may give another type.
  double decay = WeightDecay();
  visitor.Double("weight_decay", &decay, In(0, 10));
  if (decay != WeightDecay()) {
    weight_decay = decay;
  }
  visitor.Double("gradient_clip_norm", &gradient_clip_norm, In(0, 1e9).Live());
}

int64_t OptimizerOptions::StateArrays() const {
  const bool third = type == "rmsprop" ? centered : amsgrad;
  return type == "sgd" ? 1 : third ? 3 : 2;
}

}  // namespace waggle
