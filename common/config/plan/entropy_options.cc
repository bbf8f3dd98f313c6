#include "common/config/plan/entropy_options.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace waggle {

void EntropyStagesOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("window", &window, In(1, 10'000));
  visitor.Bool("adjusts_first", &adjusts_first);
  visitor.Double("lowering_rate", &lowering_rate, Above(0, 10));
  visitor.Double("slowest_rate", &slowest_rate, Above(0, 10));
  visitor.Double("fastest_rate", &fastest_rate, Above(0, 10));
  visitor.Double("min_weight", &min_weight, Above(0, 1e6));
}

void EntropyOptions::Visit(ConfigVisitor& visitor) {
  // A learned weight only begins with it.
  visitor.Schedule("weight", &weight, learns_weight() ? In(0, 1e6) : In(0, 1e6).Live());
  visitor.OptionalDouble("target", &target, In(-1e6, 1e6));
  visitor.Choice("rule", &rule, {"gradient", "stages"});
  if (visitor.Applies("optimizer", target.has_value() && rule == "gradient",
                      rule == "stages" ? "means nothing to the rule stages; wanted none, or the rule gradient"
                                       : "means nothing without a target, as the weight is not learned; wanted none, "
                                         "or a target")) {
    visitor.Section("optimizer", &optimizer);
  }
  if (visitor.Applies("stages", rule == "stages", "means nothing to the rule gradient; wanted none, or stages")) {
    visitor.Section("stages", &stages);
  }
}

absl::Status EntropyOptions::Validate() const {
  if (learns_weight() && (weight.moves() || weight.from <= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight: ", target.has_value() ? "beside a target" : "with the rule stages",
                     " the weight is learned, and begins with this one; wanted a number above 0"));
  }
  return absl::OkStatus();
}

std::vector<ScalarNeed> EntropyScalars(const EntropyOptions& options) {
  if (!options.learns_weight()) {
    return {};
  }
  return {{kLogEntropyWeight, std::log(options.weight.from), options.optimizer}};
}

}  // namespace waggle
