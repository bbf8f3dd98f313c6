#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// A small shared map through which the learners of one group find each other. The hub keeps it, so that it outlives
// them. Over gRPC in common/hub/key_store_client.h. Thread-safe; every call blocks.
//
// CANCELLED soon after a stop; FAILED_PRECONDITION once the hub has formed the next group; UNAVAILABLE while the hub is
// away; RESOURCE_EXHAUSTED if a key or value is too long, or the map is full.
class KeyStore {
 public:
  virtual ~KeyStore() = default;

  virtual absl::Status Set(const std::string& key, const std::string& value, const StopToken& stop) = 0;

  // The values of these keys, at least one. `wait`: waits until all have come; otherwise NOT_FOUND if one is missing.
  virtual absl::StatusOr<std::vector<std::string>> Get(const std::vector<std::string>& keys, bool wait,
                                                       const StopToken& stop) = 0;

  // Adds to a number, which is 0 before, and returns it. INVALID_ARGUMENT if the key's value is not a number.
  virtual absl::StatusOr<int64_t> Add(const std::string& key, int64_t amount, const StopToken& stop) = 0;

  // Returns true if the key was there.
  virtual absl::StatusOr<bool> Delete(const std::string& key, const StopToken& stop) = 0;
};

}  // namespace waggle
