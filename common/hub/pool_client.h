#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/hub_client.h"
#include "common/hub/ports/pool.h"

namespace waggle {

struct PoolClientOptions {
  std::string hub_address;  // HOST:PORT of the parameter server.
  WorkerKind kind = WorkerKind::kActor;
  std::string address;     // HOST:PORT for others; empty if it does not serve.
  std::string storage_id;  // Identifies the data on its disk; empty: none.
  // The index that it prefers in its kind.
  std::optional<int64_t> wanted_index;
  int64_t capacity = 1;  // Orders at a time.
  WorkerResources resources;
  // Called after each call to the hub, which is made every few seconds at least: why this process gets no orders, or
  // empty if the hub has answered. May be null.
  std::function<void(const std::string& why_not)> attended;
  // The time that orders have to end after a stop.
  absl::Duration grace = absl::Seconds(8);

  // INVALID_ARGUMENT naming each field that is wrong.
  absl::Status Validate() const;
};

// Options for joining the run of an order. The caller adds address and metrics.
HubClientOptions HubOptionsOf(const std::string& hub_address, const WorkOrder& order, const std::string& run_worker_id);

// Works for the pool until `stop`, which also stops every order. Carries out several orders at once, and goes on while
// the hub is away. OK after a stop. The hub's refusal is final (FAILED_PRECONDITION names both versions if the software
// differs). Logs each order's start and end.
absl::Status WorkForPool(const PoolClientOptions& options, PoolWork* work, const StopToken& stop);

}  // namespace waggle
