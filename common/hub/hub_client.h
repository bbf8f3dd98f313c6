#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"

namespace waggle {

struct HubClientOptions {
  std::string hub_address;  // HOST:PORT of the parameter server.
  std::string experiment_id;
  std::string worker_id;             // This worker in its order: see RunWorkerId.
  std::string address;               // HOST:PORT where this process serves; empty if it does not.
  const Metrics* metrics = nullptr;  // Sent with each heartbeat; outlives the link. Null: nothing is sent.

  // INVALID_ARGUMENT naming each field that is wrong.
  absl::Status Validate() const;
};

// Joins the hub, and keeps the link up by heartbeats from its own thread. Blocks until joined: retries without limit,
// with growing pauses, while the hub is away or does not know the order. CANCELLED after a stop. Any other error is the
// hub's final refusal (ALREADY_EXISTS says why this worker was dismissed).
//
// `stop` also stops the link's run_over(). The destructor says no goodbye to the hub: call Leave first if the process
// ends normally.
absl::StatusOr<std::unique_ptr<HubLink>> JoinHub(const HubClientOptions& options, const StopToken& stop);

}  // namespace waggle
