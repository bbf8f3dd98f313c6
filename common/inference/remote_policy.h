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
  // HOST:PORT of the learner's server as known now; empty if it is not. Called before each attempt to reach it.
  std::function<std::string()> address;
  std::string worker_id;  // This actor's.
  int64_t index = 0;      // This actor's.
  int64_t lanes = 0;
  EnvironmentSpec environment;
  std::vector<ArraySpec> columns;  // The remote policy's: PolicyColumns of the plan.
  std::vector<std::string> private_columns;
  uint64_t network_hash = 0;
};

// A policy that the InferenceService of the run's learner computes. The weights need not come here, and one batch has
// the lanes of several actors. Act waits for the answer. While the server is away Act tries again, until `stop`: then
// CANCELLED; the server remembers nothing of lanes that come back. A refusal of a request is final. It explores
// (ActMode::kExplore) and does nothing else.
std::unique_ptr<Policy> NewRemotePolicy(RemotePolicyOptions options, const StopToken& stop);

}  // namespace waggle
