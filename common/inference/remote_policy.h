#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/stop_token.h"
#include "common/rl/policy.h"
#include "common/spec/environment_spec.h"

namespace waggle {

struct RemotePolicyOptions {
  // HOST:PORT of who answers, as it is known now; empty while it is not. Asked before each attempt to reach it.
  std::function<std::string()> address;
  std::string worker_id;  // This actor's.
  int64_t index = 0;      // Which actor it is.
  int64_t lanes = 0;
  EnvironmentSpec environment;
  std::vector<ArraySpec> columns;  // That the policy over there gives: PolicyColumns of the plan.
  std::vector<std::string> private_columns;
  uint64_t network_hash = 0;
};

// A policy that is computed elsewhere, by the InferenceService of the run's learner: with weights that need not come
// here, and in one batch with other actors' lanes. Act waits for the answer. While the server is away Act tries again,
// until `stop`: then CANCELLED; the server remembers nothing of lanes that come back. A refusal of what was sent is
// final. It explores (ActMode::kExplore) and does nothing else.
std::unique_ptr<Policy> NewRemotePolicy(RemotePolicyOptions options, const StopToken& stop);

}  // namespace waggle
