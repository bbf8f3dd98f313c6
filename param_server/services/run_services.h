#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/metrics/metrics.h"
#include "param_server/models/model_store.h"
#include "param_server/run/hub.h"
#include "param_server/services/encoded_models.h"

namespace waggle {

// The parts of a run that the services need. Calls share it: the targets of its pointers live as long as it does.
struct RunServices {
  std::string experiment_id;
  Hub* hub = nullptr;
  GroupStore* groups = nullptr;  // The hub's.
  ModelStore* models = nullptr;
  Metrics* metrics = nullptr;  // For the counters of the services.
  // The largest epoch of a learner of the run. Pushes of later epochs are refused; null: no epoch is too late.
  std::function<uint64_t()> last_epoch;
  // The largest epoch of a dismissed learner. Its weights and earlier ones are refused; null: none are.
  std::function<uint64_t()> fenced_epoch;
  // The environment steps of a version that is pushed; null: as in its header.
  std::function<int64_t(const ModelVersion& version)> env_steps;
  EncodedModels encoded;
  // The run is closed: waiting calls end once they are woken.
  std::atomic<bool> closed{false};
};

// For a call of a closed run.
absl::Status ClosedError();

// The services of a running experiment. NOT_FOUND, naming the id, if it does not run; UNAVAILABLE if it is not open
// yet, so that its workers try again. Called in gRPC reactions: does not block.
using FindRun = std::function<absl::StatusOr<std::shared_ptr<RunServices>>(const std::string& experiment_id)>;

}  // namespace waggle
