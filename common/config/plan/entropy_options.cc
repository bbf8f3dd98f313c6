#include "common/config/plan/entropy_options.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace waggle {

void EntropyOptions::Visit(ConfigVisitor& visitor) {
  // A learned weight only begins with it.
  visitor.Schedule("weight", &weight, target.has_value() ? In(0, 1e6) : In(0, 1e6).Live());
  visitor.OptionalDouble("target", &target, In(-1e6, 1e6));
  if (visitor.Applies("optimizer", target.has_value(),
                      "means nothing without a target, as the weight is not learned; wanted none, or a target")) {
    visitor.Section("optimizer", &optimizer);
  }
}

absl::Status EntropyOptions::Validate() const {
  if (target.has_value() && (weight.moves() || weight.from <= 0)) {
    return absl::InvalidArgumentError(
        "weight: beside a target the weight is learned, and begins with this one; wanted a number above 0");
  }
  return absl::OkStatus();
}

std::vector<ScalarNeed> EntropyScalars(const EntropyOptions& options) {
  if (!options.target.has_value()) {
    return {};
  }
  return {{kLogEntropyWeight, std::log(options.weight.from), options.optimizer}};
}

}  // namespace waggle
