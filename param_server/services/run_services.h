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

// What the services answer the calls of one experiment's processes from. Shared with calls that are under way: what
// stands behind the pointers lives as long as this does.
struct RunServices {
  std::string experiment_id;
  Hub* hub = nullptr;
  GroupStore* groups = nullptr;  // The hub's.
  ModelStore* models = nullptr;
  Metrics* metrics = nullptr;  // Where models_pushed and such are counted.
  // The largest epoch that a learner of it was given, so that a push of a later one is refused; null: any will do.
  std::function<uint64_t()> last_epoch;
  // The largest epoch of a learner that was dismissed, whose weights are refused; null: there is none.
  std::function<uint64_t()> fenced_epoch;
  // The run's environment steps that become those of a version that is pushed; null: they are as its learner says.
  std::function<int64_t(const ModelVersion& version)> env_steps;
  EncodedModels encoded;
  // Its run is closed: calls that wait for something end, once they are woken.
  std::atomic<bool> closed{false};
};

// What a call of a run that has been closed ends with.
absl::Status ClosedError();

// The services of an experiment that runs. NOT_FOUND, naming the id, where none of this id does; UNAVAILABLE where it
// runs and is not open yet, so that its workers ask again. Called in gRPC reactions: does not block.
using FindRun = std::function<absl::StatusOr<std::shared_ptr<RunServices>>(const std::string& experiment_id)>;

}  // namespace waggle
