#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actor/acting/random_actions.h"
#include "common/base/random.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// Draws random actions, as RandomActions does: the baseline of learning. It has no weights. One thread.
class RandomPolicy final : public Policy {
 public:
  // The spec must be valid.
  RandomPolicy(EnvironmentSpec spec, int64_t lanes, Rng rng);

  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {}; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override;

 private:
  const EnvironmentSpec spec_;
  RandomActions actions_;
};

}  // namespace waggle
