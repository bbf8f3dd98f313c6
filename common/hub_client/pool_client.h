#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/pool.h"
#include "common/base/stop_token.h"
#include "common/hub_client/hub_client.h"

namespace waggle {

struct PoolClientOptions {
  std::string hub_address;  // HOST:PORT of the parameter server.
  WorkerKind kind = WorkerKind::kActor;
  std::string address;     // HOST:PORT where others reach this process; empty where it serves nobody.
  std::string storage_id;  // Of what it holds on its disk; empty: nothing.
  // Which one of its kind it would rather be.
  std::optional<int64_t> wanted_index;
  int64_t capacity = 1;  // Orders at a time.
  WorkerResources resources;
  // How long its orders have to end after a stop.
  absl::Duration grace = absl::Seconds(8);

  // INVALID_ARGUMENT naming each field that is wrong.
  absl::Status Validate() const;
};

// How a process joins the run of an order: what is left to set is where it serves, and its metrics.
HubClientOptions HubOptionsOf(const std::string& hub_address, const WorkOrder& order, const std::string& run_worker_id);

// Takes part in the pool until `stop`, which every order is told too: does what the hub orders, several orders at once,
// and goes on through any absence of the hub. OK after a stop. The hub's refusal (FAILED_PRECONDITION names both
// versions where the software differs) is final. Logs each order as it begins and ends.
absl::Status WorkForPool(const PoolClientOptions& options, PoolWork* work, const StopToken& stop);

}  // namespace waggle
