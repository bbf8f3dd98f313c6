#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// A small shared map, through which the learners of a group find each other. It is at the hub and outlives them. Over
// gRPC in common/hub/key_store_client.h. Thread-safe; every call blocks. CANCELLED soon after a stop;
// FAILED_PRECONDITION once the hub has formed the next group; UNAVAILABLE while the hub is away; RESOURCE_EXHAUSTED if
// a key or value is too long, or the map is full.
class KeyStore {
 public:
  virtual ~KeyStore() = default;

  virtual absl::Status Set(const std::string& key, const std::string& value, const StopToken& stop) = 0;

  // Takes at least one key. With `wait` it waits for missing keys; otherwise NOT_FOUND.
  virtual absl::StatusOr<std::vector<std::string>> Get(const std::vector<std::string>& keys, bool wait,
                                                       const StopToken& stop) = 0;

  // Adds to a number, 0 at first, and returns it. INVALID_ARGUMENT if the value is not a number.
  virtual absl::StatusOr<int64_t> Add(const std::string& key, int64_t amount, const StopToken& stop) = 0;

  // Returns false if the key was missing.
  virtual absl::StatusOr<bool> Delete(const std::string& key, const StopToken& stop) = 0;
};

}  // namespace waggle
