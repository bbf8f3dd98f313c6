#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actor/environments/environment.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// Acts by an environment's script: a demonstrator that needs no training. It has no weights, and draws nothing. One
// thread.
class ScriptedPolicy final : public Policy {
 public:
  // The spec must be valid, and the script's own.
  ScriptedPolicy(EnvironmentSpec spec, EnvironmentScript script);

  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {}; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override;

 private:
  const EnvironmentSpec spec_;
  const EnvironmentScript script_;
};

}  // namespace waggle
