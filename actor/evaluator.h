#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "actor/policy_buffers.h"
#include "common/api/hub.h"
#include "common/base/random.h"
#include "common/base/stop_token.h"
#include "common/rl/policy.h"

namespace waggle {

// Measures how well a policy does when it is greedy. As many lanes as episodes, each of which runs exactly one: were
// lanes to start again until enough episodes are over, short episodes would come in more often than long ones. Start
// states go on from one evaluation to the next, so no two see the same. One thread.
class Evaluator {
 public:
  // INVALID_ARGUMENT for less than one episode, or where an environment is not as its definition says. `policy`, made
  // for `episodes` lanes, is borrowed.
  static absl::StatusOr<std::unique_ptr<Evaluator>> Create(const EnvironmentDefinition& definition,
                                                           const EnvironmentOptions& options, int64_t episodes, Rng rng,
                                                           Policy* policy);

  // Runs the episodes with the policy's present weights. CANCELLED after a stop. `version` of the result is not set.
  absl::StatusOr<Evaluation> Evaluate(const StopToken& stop);

 private:
  Evaluator(std::vector<std::unique_ptr<Environment>> environments, Policy* policy);

  absl::Status StartEpisodes();
  absl::Status StepLanes();

  const std::vector<std::unique_ptr<Environment>> environments_;
  const size_t observation_bytes_;
  const size_t action_bytes_;
  Policy* const policy_;
  PolicyBuffers buffers_;
  std::vector<char> observations_;
  std::vector<uint8_t> first_;
  std::vector<uint8_t> running_;
  std::vector<double> returns_;
  int64_t steps_ = 0;  // Of all episodes of this evaluation.
  int64_t lanes_running_ = 0;
};

}  // namespace waggle
