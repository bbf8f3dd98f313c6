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
  // Returns HOST:PORT of the learner's server, or "" if unknown. Called before each connection attempt.
  std::function<std::string()> address;
  std::string worker_id;
  int64_t index = 0;  // The actor's.
  int64_t lanes = 0;
  EnvironmentSpec environment;
  std::vector<ArraySpec> columns;  // The remote policy's: AlgorithmPlan::columns.
  std::vector<std::string> private_columns;
  uint64_t network_hash = 0;
};

// A policy that the learner's InferenceService computes, in batches over several actors. It needs no weights here. Act
// waits for the answer, and retries while the server is away; CANCELLED after a stop. A refusal is final. The server
// forgets absent lanes. Only explores (ActMode::kExplore).
std::unique_ptr<Policy> NewRemotePolicy(RemotePolicyOptions options, const StopToken& stop);

}  // namespace waggle
