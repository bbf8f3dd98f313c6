#pragma once

#include <cstdint>
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
  std::string address;     // HOST:PORT at which others reach this process; empty if it does not serve.
  std::string storage_id;  // Identifies the data on its disk; empty: none.
  // The index of its kind that it prefers.
  std::optional<int64_t> wanted_index;
  int64_t capacity = 1;  // Orders at a time.
  WorkerResources resources;
  // The time that its orders have to end after a stop.
  absl::Duration grace = absl::Seconds(8);

  // INVALID_ARGUMENT naming each field that is wrong.
  absl::Status Validate() const;
};

// A process's options to join the run of an order. The caller adds its address and metrics.
HubClientOptions HubOptionsOf(const std::string& hub_address, const WorkOrder& order, const std::string& run_worker_id);

// Takes part in the pool until `stop`, which every order gets too: carries out the hub's orders, several at once, and
// goes on through any absence of the hub. OK after a stop. The hub's refusal (FAILED_PRECONDITION names both versions
// if the software differs) is final. Logs each order as it begins and ends.
absl::Status WorkForPool(const PoolClientOptions& options, PoolWork* work, const StopToken& stop);

}  // namespace waggle
