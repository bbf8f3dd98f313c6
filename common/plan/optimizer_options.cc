#include "common/plan/optimizer_options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/base/problems.h"

namespace waggle {
namespace {

constexpr int64_t kMaxSteps = int64_t{1} << 50;

const std::vector<std::string>& Types() {
  static const auto* const names = new std::vector<std::string>{"adam", "adamw", "rmsprop", "sgd"};
  return *names;
}

const std::vector<std::string>& Schedules() {
  static const auto* const names = new std::vector<std::string>{"constant", "linear"};
  return *names;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Negated so that NaN fails too.
bool Outside(double value, double minimum, double maximum) {
  return !(value >= minimum && value <= maximum);
}

}  // namespace

double OptimizerOptions::LearningRate(int64_t step) const {
  if (schedule == "constant") {
    return learning_rate;
  }
  const double progress = std::min(1.0, static_cast<double>(step) / static_cast<double>(schedule_steps));
  return learning_rate + (final_learning_rate - learning_rate) * progress;
}

void OptimizerOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, Types());
  visitor.Double("learning_rate", &learning_rate, 0, 10);
  visitor.Double("beta1", &beta1, 0, 0.999999);
  visitor.Double("beta2", &beta2, 0, 0.99999999);
  visitor.Double("alpha", &alpha, 0, 0.99999999);
  visitor.Double("momentum", &momentum, 0, 0.999999);
  visitor.Double("epsilon", &epsilon, 0, 1);
  visitor.Double("weight_decay", &weight_decay, 0, 10);
  visitor.Double("gradient_clip_norm", &gradient_clip_norm, 0, 1e9);
  visitor.Choice("schedule", &schedule, Schedules());
  visitor.Double("final_learning_rate", &final_learning_rate, 0, 10);
  visitor.Int("schedule_steps", &schedule_steps, 0, kMaxSteps);
}

absl::Status OptimizerOptions::Validate() const {
  Problems problems;
  problems.AddUnless(Contains(Types(), type), "type: \"", type, "\" is not one of adam, adamw, rmsprop, sgd");
  problems.AddUnless(Contains(Schedules(), schedule), "schedule: \"", schedule, "\" is not one of constant, linear");
  problems.AddUnless(!Outside(learning_rate, 0, 10), "learning_rate: ", learning_rate, " is outside [0, 10]");
  problems.AddUnless(!Outside(final_learning_rate, 0, 10), "final_learning_rate: ", final_learning_rate,
                     " is outside [0, 10]");
  problems.AddUnless(!Outside(beta1, 0, 0.999999), "beta1: ", beta1, " is outside [0, 1)");
  problems.AddUnless(!Outside(beta2, 0, 0.99999999), "beta2: ", beta2, " is outside [0, 1)");
  problems.AddUnless(!Outside(alpha, 0, 0.99999999), "alpha: ", alpha, " is outside [0, 1)");
  problems.AddUnless(!Outside(momentum, 0, 0.999999), "momentum: ", momentum, " is outside [0, 1)");
  problems.AddUnless(!Outside(epsilon, 0, 1), "epsilon: ", epsilon, " is outside [0, 1]");
  problems.AddUnless(!Outside(weight_decay, 0, 10), "weight_decay: ", weight_decay, " is outside [0, 10]");
  problems.AddUnless(!Outside(gradient_clip_norm, 0, 1e9), "gradient_clip_norm: ", gradient_clip_norm,
                     " is outside [0, 1e9]");
  problems.AddUnless(schedule_steps >= 0 && schedule_steps <= kMaxSteps, "schedule_steps: ", schedule_steps,
                     " is out of range");
  problems.AddUnless(schedule != "linear" || schedule_steps > 0, "schedule: linear needs schedule_steps above 0");
  problems.AddUnless(
      schedule != "constant" || (schedule_steps == 0 && final_learning_rate == 0),
      "schedule: final_learning_rate and schedule_steps mean nothing for a constant one; did you mean \"linear\"?");
  const OptimizerOptions defaults;
  const auto only_of = [&](const char* field, double value, double default_value, std::vector<std::string> types) {
    problems.AddUnless(Contains(types, type) || !Contains(Types(), type) || value == default_value, field,
                       ": means nothing to ", type, "; wanted none, or a type of ", absl::StrJoin(types, ", "));
  };
  only_of("beta1", beta1, defaults.beta1, {"adam", "adamw"});
  only_of("beta2", beta2, defaults.beta2, {"adam", "adamw"});
  only_of("alpha", alpha, defaults.alpha, {"rmsprop"});
  only_of("momentum", momentum, defaults.momentum, {"rmsprop", "sgd"});
  only_of("epsilon", epsilon, defaults.epsilon, {"adam", "adamw", "rmsprop"});
  return problems.ToStatus();
}

}  // namespace waggle
