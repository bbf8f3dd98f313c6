#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/machine_memory.h"
#include "common/base/metrics/metrics.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/key_store.h"
#include "common/hub/ports/model.h"
#include "common/replay/ports/replay.h"
#include "common/rl/kit/algorithm.h"
#include "learner/inference/inference_batcher.h"

namespace waggle {

struct LearnerProcessOptions {
  // The folder with "checkpoints", from which this learner continues, and "best", for the run's best weights. Empty:
  // neither is kept.
  std::string output_dir;
  // An experiment whose learner needs more is refused with RESOURCE_EXHAUSTED before anything is built.
  int64_t memory_bytes = MachineMemoryBytes();
};

// A learner's connections to other processes, and the algorithms that it knows.
struct LearnerConnections {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  std::function<absl::StatusOr<std::unique_ptr<ReplayConnection>>(const std::vector<std::string>& addresses)>
      connect_replay;
  std::function<std::unique_ptr<ModelPublisher>()> new_publisher;
  std::function<std::unique_ptr<ModelSubscriber>(const std::string& model)> new_subscriber;
  // A subscriber to the weights of another experiment, for a population's members.
  std::function<std::unique_ptr<ModelSubscriber>(const std::string& experiment_id, const std::string& model)>
      new_peer_subscriber;
  // Answers actors by this batcher from now on; `network_hash` is of its policy's network. A null batcher: actors get
  // no answers. A null function: this process does not listen.
  std::function<void(std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash)> serve_inference;
  // For a run with several learners: the map of the group with this epoch, and an address of this machine that the
  // other learners can reach.
  std::function<std::unique_ptr<KeyStore>(uint64_t epoch)> new_key_store;
  std::function<absl::StatusOr<std::string>()> group_host;
  const AlgorithmDefinitions* definitions = nullptr;
  const AlgorithmImplementations* algorithms = nullptr;
};

// A learner's whole life. Waits until the hub knows an experiment, its environment and its replay servers, creates the
// tables, trains, and writes a last checkpoint. Continues from a checkpoint if there is one; otherwise from the hub's
// newest weights, which an earlier learner published. Returns OK when the run is over or after a stop; the hub's error
// if it refuses this learner; any other error is reported to the hub too.
absl::Status RunLearner(const LearnerProcessOptions& options, const LearnerConnections& connections);

}  // namespace waggle
