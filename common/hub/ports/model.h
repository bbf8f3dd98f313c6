#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/tensor/byte_slices.h"
#include "common/base/threads/stop_token.h"
#include "common/config/schedule.h"

// The ports to the parameter server, for weights from the learner to processes that act.

namespace waggle {

// Identifies weights. Ordered by the learner's epoch, then by its step (`version`).
struct ModelVersion {
  uint64_t epoch = 0;
  uint64_t version = 0;

  friend bool operator==(const ModelVersion& a, const ModelVersion& b) {
    return a.epoch == b.epoch && a.version == b.version;
  }
  friend bool operator!=(const ModelVersion& a, const ModelVersion& b) { return !(a == b); }
  friend bool operator<(const ModelVersion& a, const ModelVersion& b) {
    return a.epoch != b.epoch ? a.epoch < b.epoch : a.version < b.version;
  }
};

// A version of a model's weights. A value; copies share the bytes.
struct ModelSnapshot {
  std::string model;
  ModelVersion version;
  // The run's at the publication, as the learner knew it. The users' env_steps are those that actors had reported to
  // the parameter server by then.
  Progress progress;
  std::vector<ArraySpec> tensors;
  uint64_t network_hash = 0;  // The hash of the network's description.
  ByteSlices data;            // The tensors, back to back, in order.
};

// Publishes weights. One thread at a time. CANCELLED after a stop.
class ModelPublisher {
 public:
  virtual ~ModelPublisher() = default;

  // FAILED_PRECONDITION if the version is not newer than the published one; with reasons::kLaterLearner if another
  // learner has replaced this one. UNAVAILABLE while the server is away; retries may succeed.
  virtual absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& stop) = 0;
};

// Reads weights. One thread at a time. CANCELLED after a stop; UNAVAILABLE while the server is away.
class ModelSubscriber {
 public:
  virtual ~ModelSubscriber() = default;

  // Returns the newest weights if they are newer than `version`, or that is absent. Otherwise only the answer travels.
  virtual absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion> version,
                                                                 const StopToken& stop) = 0;

  // Returns the weights with the best evaluation, if there are any.
  virtual absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken& stop) = 0;

  // Waits until there is something newer than `version`.
  virtual absl::Status WaitNewer(std::optional<ModelVersion> version, const StopToken& stop) = 0;
};

}  // namespace waggle
