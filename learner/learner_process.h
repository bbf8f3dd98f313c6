#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/hub.h"
#include "common/api/key_store.h"
#include "common/api/model.h"
#include "common/api/replay.h"
#include "common/base/machine_memory.h"
#include "common/experiment/algorithm_definition.h"
#include "common/metrics/metrics.h"
#include "common/rl/algorithm.h"
#include "learner/inference/inference_batcher.h"

namespace waggle {

struct LearnerProcessOptions {
  // Checkpoints are in its folder "checkpoints", from which this learner goes on, and the run's best weights go to
  // "best"; empty: there are none.
  std::string output_dir;
  // An experiment whose learner takes more is refused before anything of it is built, with RESOURCE_EXHAUSTED.
  int64_t memory_bytes = MachineMemoryBytes();
};

// How a learner reaches the others, and what it can learn with.
struct LearnerConnections {
  HubLink* hub = nullptr;
  Metrics* metrics = nullptr;
  std::function<absl::StatusOr<std::unique_ptr<ReplayConnection>>(const std::vector<std::string>& addresses)>
      connect_replay;
  std::function<std::unique_ptr<ModelPublisher>()> new_publisher;
  std::function<std::unique_ptr<ModelSubscriber>(const std::string& model)> new_subscriber;
  // Answers actors by this batcher, whose policy is of the network with this hash, from now on; null: by nobody. Null
  // itself where this process listens nowhere.
  std::function<void(std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash)> serve_inference;
  // Of a run with several learners: the map of the group of this epoch, and an address of this machine by which the
  // other learners reach it.
  std::function<std::unique_ptr<KeyStore>(uint64_t epoch)> new_key_store;
  std::function<absl::StatusOr<std::string>()> group_host;
  const AlgorithmDefinitions* definitions = nullptr;
  const AlgorithmImplementations* algorithms = nullptr;
};

// A learner's whole life: waits until the hub knows an experiment, its environment and its replay servers, makes
// the tables, trains, and writes a last checkpoint. It goes on from a checkpoint, where there is one to go on from;
// else from the newest weights that the hub has, as another learner has gone before then. Returns OK when the run is
// over or after a stop; the hub's refusal where it refuses this learner; any other error is reported to the hub too.
absl::Status RunLearner(const LearnerProcessOptions& options, const LearnerConnections& connections);

}  // namespace waggle
