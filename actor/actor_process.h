#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"
#include "actor/gradients/gradient_worker.h"
#include "actor/importing/episode_source.h"
#include "common/base/machine_memory.h"
#include "common/base/metrics/metrics.h"
#include "common/config/experiment/experiment.h"
#include "common/hub/inference/remote_policy.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "common/replay/ports/replay.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// The inputs of a policy's creation, without a tensor library: see PolicyContext in common/rl/acting/network_policy.h.
struct PolicyRequest {
  const Experiment* experiment = nullptr;  // Outlives the policy.
  EnvironmentSpec environment;
  int64_t lanes = 0;
  // This process's lanes are [first_lane, first_lane + lanes) of the run's all_lanes.
  int64_t first_lane = 0;
  int64_t all_lanes = 0;
  uint64_t seed = 0;
  int64_t first_step = 0;
};

// The dependencies of an actor or an evaluator. Pointers are borrowed and never null.
struct ActorPorts {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  const EnvironmentDefinitions* environments = nullptr;
  const AlgorithmDefinitions* algorithms = nullptr;
  // Connects to the replay servers at these addresses. Not called by an evaluator.
  std::function<absl::StatusOr<std::unique_ptr<ReplayConnection>>(const std::vector<std::string>& addresses)>
      connect_replay;
  std::function<absl::StatusOr<std::unique_ptr<ModelSubscriber>>(const std::string& model)> new_subscriber;
  std::function<absl::StatusOr<std::unique_ptr<Policy>>(const PolicyRequest& request)> new_policy;
  // A policy that the learner computes; see common/hub/inference/remote_policy.h. Not called by an evaluator.
  std::function<std::unique_ptr<Policy>(RemotePolicyOptions options, const StopToken& stop)> new_remote_policy;
  // Opens the recorded episodes of `replay.import`. Not called by an evaluator.
  std::function<absl::StatusOr<std::unique_ptr<EpisodeSource>>(const std::string& name, const std::string& python,
                                                               const StopToken& stop)>
      open_episodes;
  // Makes the worker that computes and pushes gradients (learner.gradients: push). The references outlive it. Neither
  // this nor new_publisher is called by an evaluator.
  std::function<absl::StatusOr<std::unique_ptr<GradientWorker>>(const Experiment& experiment,
                                                                const EnvironmentSpec& environment)>
      new_gradient_worker;
  std::function<std::unique_ptr<ModelPublisher>()> new_publisher;
  // Names this process among all that ever take part in the run.
  std::string process_id;
  // An experiment that needs more memory is refused, with RESOURCE_EXHAUSTED, before a policy is made.
  int64_t memory_bytes = MachineMemoryBytes();
};

// Acts until the run is over: waits for the experiment, makes environments, reports their spec, creates the replay
// tables, imports recorded episodes if it is the first actor, waits for the first weights and acts. OK when the run is
// over or the process is told to stop. An error is reported to the hub, then returned. Leaves the hub at the end.
absl::Status RunActor(const ActorPorts& ports);

// The same for a process that evaluates the newest weights repeatedly.
absl::Status RunEvaluator(const ActorPorts& ports);

}  // namespace waggle
