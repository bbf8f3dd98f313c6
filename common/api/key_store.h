#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/stop_token.h"

namespace waggle {

// A small shared map of one group of learners, over which they find each other; the hub keeps it, so that it outlives
// any of them. Over gRPC in common/hub_client/key_store_client.h. Thread-safe; every call blocks.
//
// CANCELLED soon after a stop; FAILED_PRECONDITION once the hub has formed the next group; UNAVAILABLE while the hub is
// away; RESOURCE_EXHAUSTED for keys or values that are too long, or where the map is full.
class KeyStore {
 public:
  virtual ~KeyStore() = default;

  virtual absl::Status Set(const std::string& key, const std::string& value, const StopToken& stop) = 0;

  // The values of all of these keys, of which there is at least one. `wait`: until the last of them has come; otherwise
  // NOT_FOUND where one is missing.
  virtual absl::StatusOr<std::vector<std::string>> Get(const std::vector<std::string>& keys, bool wait,
                                                       const StopToken& stop) = 0;

  // Adds to a number, which is 0 before, and returns it. INVALID_ARGUMENT where the key has another value.
  virtual absl::StatusOr<int64_t> Add(const std::string& key, int64_t amount, const StopToken& stop) = 0;

  // Returns whether the key was there.
  virtual absl::StatusOr<bool> Delete(const std::string& key, const StopToken& stop) = 0;
};

}  // namespace waggle
