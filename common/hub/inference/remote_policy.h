#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/acting/policy.h"

namespace waggle {

struct RemotePolicyOptions {
  // The present HOST:PORT of the learner's server; empty if unknown. Called before each connection attempt.
  std::function<std::string()> address;
  std::string worker_id;  // This actor's.
  int64_t index = 0;      // This actor's.
  int64_t lanes = 0;
  EnvironmentSpec environment;
  std::vector<ArraySpec> columns;  // The remote policy's: PolicyColumns of the plan.
  std::vector<std::string> private_columns;
  uint64_t network_hash = 0;
};

// A policy that the learner's InferenceService computes, which needs no weights here and batches the lanes of several
// actors. Act waits for the answer. Retries while the server is away until `stop`: then CANCELLED. The server forgets
// absent lanes. A refusal is final. Only explores (ActMode::kExplore).
std::unique_ptr<Policy> NewRemotePolicy(RemotePolicyOptions options, const StopToken& stop);

}  // namespace waggle
