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

// The ports to the parameter server: weights go from the learner to the processes that act.

namespace waggle {

// Identifies weights: ordered by epoch (the learner that made them), then by version (that learner's step).
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

// One version of a model's weights. A value; its copies share the bytes.
struct ModelSnapshot {
  std::string model;
  ModelVersion version;
  // The run's when they were published, as the learner knew it. env_steps, which users see, are those that actors had
  // reported to the parameter server when it took this version in.
  Progress progress;
  std::vector<ArraySpec> tensors;
  uint64_t network_hash = 0;  // The hash of the network's description.
  ByteSlices data;            // The tensors, back to back, in their order.
};

// Publishes weights. One thread at a time. A stop ends a call that waits for the server: CANCELLED.
class ModelPublisher {
 public:
  virtual ~ModelPublisher() = default;

  // FAILED_PRECONDITION if the version is not newer than what is published; with reasons::kLaterLearner if that has a
  // later epoch: another learner has replaced this one. UNAVAILABLE while the server is away; the next call may
  // succeed.
  virtual absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& stop) = 0;
};

// Reads weights. One thread at a time. A stop ends a call that waits for the server: CANCELLED.
class ModelSubscriber {
 public:
  virtual ~ModelSubscriber() = default;

  // The newest weights if they are newer than `version` (or if that is absent). Otherwise nothing, and only the answer
  // travels. UNAVAILABLE while the server is away.
  virtual absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion> version,
                                                                 const StopToken& stop) = 0;

  // The weights with the best evaluation, if there are any. UNAVAILABLE while the server is away.
  virtual absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken& stop) = 0;

  // Waits until there is something newer than `version`.
  virtual absl::Status WaitNewer(std::optional<ModelVersion> version, const StopToken& stop) = 0;
};

}  // namespace waggle
