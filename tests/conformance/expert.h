#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actor/acting/random_actions.h"
#include "common/base/random.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/acting/policy.h"
#include "tests/conformance/tiny_environment.h"

namespace waggle::testing {

// Demonstrates the identity task for algorithms that learn from recorded episodes: nine of ten actions are right, the
// others random. In kinds with a goal all are random. Not for kMemory and several agents. It has no weights, and takes
// any.
class ExpertPolicy final : public Policy {
 public:
  ExpertPolicy(TinyKind kind, EnvironmentSpec spec, int64_t lanes, uint64_t seed);

  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {}; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  absl::Status LoadWeights(const ModelSnapshot& /*snapshot*/) override { return absl::OkStatus(); }

 private:
  const TinyKind kind_;
  const EnvironmentSpec spec_;
  Rng rng_;
  RandomActions random_;
};

}  // namespace waggle::testing
